// "Check my vote" for polls with verifiable. `make checker` builds acclaim-checker.js.
import { addNonce, checkReceipt, makeSecret } from "./acclaim-checker.js"

const [button, verdicts, link] = ["check", "verdicts", "receipt"].map((id) => document.getElementById(id))
const questions = { recorded: "Is your vote recorded?", counted: "Is it counted?", same: "Is the result the same for all viewers?" }
const answers = { yes: "Yes.", no: "No.", unknown: "Not known." }

export class Checking {
  constructor(api, credential, poll) { // poll as GET /poll has it
    const [client, token] = credential.split(" "), { channel_id: channel } = JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")))
    Object.assign(this, { api, credential, poll, name: { client, channel, poll: poll.id } })
    button.onclick = () => this.check().catch((error) => { verdicts.textContent = error.message })
    if (this.secret) this.offer()
  }

  // The secret stays in this browser until the viewer shows the receipt.
  get secret() { return localStorage[`secret ${this.poll.id}`] }

  // beginVote returns what a vote has beside its value: the digest of a new secret, and the version that the viewer sees.
  beginVote() {
    const { nonce, nonceHash } = makeSecret(this.name)
    localStorage[`secret ${this.poll.id}`] = nonce
    return { nonceHash, version: this.poll.version }
  }

  offer() { button.hidden = false }

  async check() {
    const answer = await fetch(`${this.api}/receipt?id=${encodeURIComponent(this.poll.id)}`, { headers: { Authorization: this.credential } })
    if (!answer.ok) throw new Error((await answer.json()).reason) // the vote is signed some two seconds after it was cast
    const receipt = addNonce(await answer.text(), this.secret)
    link.href = URL.createObjectURL(new Blob([receipt]))
    link.hidden = false
    // This key is that of the server that is checked, so it finds mistakes, not a dishonest operator. Yours knows a better
    // place for it: your own page.
    const site = new URL(this.api).origin, key = (await (await fetch(`${site}/log/vkeys`)).text()).trim().split("\n")
    const report = await checkReceipt(receipt, { key, site, noRecount: true })
    verdicts.replaceChildren(...Object.entries(questions).map(([part, question]) =>
      Object.assign(document.createElement("li"), { textContent: `${question} ${answers[report[part].answer]} ${report[part].text}` })))
    verdicts.append(...[report.vote && `Your vote: ${report.vote}`, report.missing, ...report.findings.map((found) => found.sentence)].filter(Boolean)
      .map((textContent) => Object.assign(document.createElement("li"), { textContent })))
  }
}
