// Programs under test, and requests to them.

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

export const root = path.resolve(import.meta.dirname, "../..");

// run starts a program and returns it once it has printed a line, or one that matches.
async function run(command, args, options, wanted = /^/) {
  const child = spawn(command, args, { cwd: root, stdio: ["pipe", "pipe", "inherit"], ...options });
  const ended = once(child, "exit"), printed = [];
  const found = new Promise((resolve) => {
    createInterface(child.stdout).on("line", (line) => {
      printed.push(line);
      if (wanted.test(line)) resolve();
    });
  });
  await Promise.race([found, ended]);
  if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
  child.stdout.resume();
  return { line: String(printed[0]), last: String(printed.at(-1)), child, ended };
}

async function build(folder, target) {
  const binary = path.join(folder, path.basename(target));
  const [status] = await once(spawn("go", ["build", "-C", path.join(root, target), "-o", binary, "."], { stdio: "inherit" }), "exit");
  if (status !== 0) throw new Error(`go build ${target}: ${status}`);
  return binary;
}

// Lab is a folder with what was built, and the programs that run in it.
export class Lab {
  static async open() {
    const lab = new Lab();
    lab.folder = await mkdtemp(path.join(tmpdir(), "acclaim-browser-"));
    lab.binary = await build(lab.folder, "services");
    lab.running = [];
    return lab;
  }

  // serve starts the program; without a port it picks one.
  async serve({ port = 0, data = "data", mongodb, games = false, args = [] } = {}) {
    const where = mongodb ? ["--mongodb-uri", mongodb] : ["--data-dir", path.join(this.folder, data)];
    if (games) where.push("--gamelink-listen", "127.0.0.1:0");
    const program = await run(this.binary, ["serve", "--listen", `127.0.0.1:${port}`, "--admin-listen", "127.0.0.1:0", "--log-level", "error", ...where, ...args]);
    program.origin = new URL(/base=(\S+)/.exec(program.line)[1]).origin;
    program.games = /gamelink=(\S+)/.exec(program.line)?.[1];
    this.running.push(program);
    return program;
  }

  // rig starts the rig with a copy of an extension's folder, in which the program's address is
  // that of this program, or with an archive as it is.
  async rig(folder, { data = path.basename(folder), args = [] } = {}) {
    const archive = folder.endsWith(".zip"), copy = archive ? folder : path.join(this.folder, `${data}-extension`);
    if (!archive) await cp(folder, copy, { recursive: true });
    const program = await run(this.binary, ["rig", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--rig-listen", "127.0.0.1:0",
      "--log-level", "error", "--data-dir", path.join(this.folder, data), ...args, copy], {}, /^rig /);
    program.origin = new URL(/base=(\S+)/.exec(program.line)[1]).origin;
    program.rig = program.last.split(" ")[1];
    for (const name of archive ? [] : (await readdir(copy)).filter((name) => name.endsWith(".js"))) {
      const file = path.join(copy, name);
      await writeFile(file, (await readFile(file, "utf8")).replaceAll("http://127.0.0.1:8080", program.origin));
    }
    this.running.push(program);
    return program;
  }

  // database starts the MongoDB-wire server and returns its URI.
  async database() {
    const binary = await build(this.folder, "hack/mongod");
    const server = await run(binary, ["--child", "--data", path.join(this.folder, "mongod-data")]);
    this.running.push(server);
    return server.line.trim();
  }

  async close() {
    for (const { child, ended } of this.running.reverse()) {
      child.stdin.end();
      child.kill("SIGTERM");
      await ended;
    }
    await rm(this.folder, { recursive: true });
  }
}

export async function kill(program, signal = "SIGKILL") {
  program.child.kill(signal);
  await program.ended;
}

// sign returns a token as the platform signs it for the sample extension.
export function sign(claims) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const content = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ exp: Math.floor(Date.now() / 1000) + 1800, ...claims })}`;
  const secret = Buffer.from("c2FtcGxlLXNlY3JldC10aGF0LWV2ZXJ5b25lLWtub3dz", "base64"); // of config/extensions.yaml
  return `${content}.${createHmac("sha256", secret).update(content).digest("base64url")}`;
}

// token returns a credential of the sample extension for the sandbox.
export async function token(origin, who) {
  const request = { extension_id: "sample-extension", channel_id: "1", ...who };
  const answer = await fetch(origin + "/sandbox/v1/authtoken", { method: "POST", body: JSON.stringify(request) });
  return `sample-extension ${(await answer.json()).token}`;
}

export async function send(origin, credential, method, route, body) {
  const answer = await fetch(`${origin}/sandbox/v1${route}`, { method, headers: { Authorization: credential }, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${route}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

// productionToken returns a credential of the sample extension for production.
export async function productionToken(lab, role) {
  const { line, ended } = await run(lab.binary, ["token", "--extension", "sample-extension", "--role", role, "--channel", "1"]);
  await ended;
  return line.trim();
}
