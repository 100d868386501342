// Prints a token of your backend, for Node.js 20 or newer:
//   SECRET=<the extension's secret, base64> node sign.mjs <client id> <channel id>
import { createHmac } from "node:crypto"

const [clientId, channel] = process.argv.slice(2)
const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url")
const claims = { exp: Math.floor(Date.now() / 1000) + 3600, role: "backend", channel_id: channel }
const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode(claims)}`
const signature = createHmac("sha256", Buffer.from(process.env.SECRET, "base64")).update(signed).digest("base64url")
console.log(`${clientId} ${signed}.${signature}`)
