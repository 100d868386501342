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

// leaders returns the options with the most votes, none where there are no votes. In a poll that names
// options only those count.
export function leaders(options, poll) {
  const own = poll?.options?.length || Infinity, counted = options.filter((o) => o.value < own);
  const most = Math.max(1, ...counted.map((o) => o.votes));
  return counted.filter((o) => o.votes === most);
}

// outcome returns who leads, and how: "winner", "tie", or "chosen" where staff has decided a tie.
export function outcome(options, poll) {
  const first = leaders(options, poll), chosen = first.filter((o) => o.value === poll?.tieBreak);
  if (first.length < 2) return { how: "winner", winners: first };
  return chosen.length > 0 ? { how: "chosen", winners: chosen } : { how: "tie", winners: first };
}
