const api = "http://127.0.0.1:8080/v1/e", poll = "lunch"
const [prompt, options, message] = ["prompt", "options", "message"].map((id) => document.getElementById(id))
let credential, events, checking // of a poll whose votes can be checked

async function call(method, route, body) {
  const answer = await fetch(api + route, { method, headers: { Authorization: credential }, body: body && JSON.stringify(body) })
  const result = await answer.json()
  if (!answer.ok) throw new Error(result.reason ?? answer.statusText)
  return result
}

async function vote(value) {
  try {
    show(await call("POST", `/vote?id=${poll}`, { value, ...checking?.beginVote() }))
    message.textContent = "Your vote is counted."
    checking?.offer()
  } catch (error) {
    message.textContent = error.message // such as "poll is closed"
  }
}

// Option number n of a poll is the value n, and specific[n] its votes.
function show({ specific }) {
  [...options.children].forEach((button, n) => { button.value = specific[n] ?? 0; button.textContent = `${button.name} ${button.value}` })
}

async function start(clientId, token) { // again before each token expires
  credential = `${clientId} ${token}`
  await call("GET", "/user_info") // the first request of a page
  const configured = await call("GET", `/poll?id=${poll}`)
  prompt.textContent = configured.prompt
  if (configured.verifiable && !configured.noReceipts) checking = new (await import("./check.js")).Checking(api, credential, configured)
  options.replaceChildren(...configured.options.map((text, n) => Object.assign(document.createElement("button"), { name: text, onclick: () => vote(n) })))
  events?.close()
  events = new EventSource(`${api}/events?${new URLSearchParams({ topic: `vote_update:${poll}`, access_token: credential })}`)
  events.addEventListener("broadcast", async ({ data }) => {
    const update = JSON.parse(data)
    // After a resync the page may have missed something: it reads.
    show(update.event.endsWith(":resync") ? await call("GET", `/vote?id=${poll}`) : update.data.stats)
  })
  show(await call("GET", `/vote?id=${poll}`))
}

const begin = (clientId, token) => start(clientId, token).catch((error) => { message.textContent = error.message })
// On the platform its helper has the viewer's token. On your machine it is in the address, behind "#".
window.Twitch?.ext?.onAuthorized(({ clientId, token }) => begin(clientId, token))
if (location.hash) begin(...decodeURIComponent(location.hash.slice(1)).split(" "))
