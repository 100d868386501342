// What the votes of a poll come to, for people.

// percentages returns whole percentages that add up to 100, or zeros where there are no votes.
// What rounding down leaves goes to the largest remainders, and of equal ones to the first.
export function percentages(votes) {
  const sum = votes.reduce((n, v) => n + v, 0);
  if (sum === 0) return votes.map(() => 0);
  const whole = votes.map((v) => Math.floor((v * 100) / sum));
  const left = 100 - whole.reduce((n, w) => n + w, 0);
  const byRemainder = votes.map((v, i) => ({ i, rest: (v * 100) % sum })).sort((a, b) => b.rest - a.rest || a.i - b.i);
  for (const { i } of byRemainder.slice(0, left)) whole[i]++;
  return whole;
}

// leaders returns the options with the most votes, none where there are no votes.
export function leaders(options) {
  const most = Math.max(1, ...options.map((o) => o.votes));
  return options.filter((o) => o.votes === most);
}
