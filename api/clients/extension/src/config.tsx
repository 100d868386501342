/** The broadcaster's settings, the view `config`. The platform's configuration service keeps them. */
import { Acclaim, content, type Credential, fromPlatform } from "acclaim-client";
import { render } from "preact";

import { explain } from "./connect.js";
import { findHelper, followTheme, type Helper } from "./platform.js";
import { findOrigin, readExtensionBackend, readOwnBackend, readSettings, saveSettings, type Template } from "./settings.js";
import { say } from "./texts.js";

let said = "", problem = "";

/** Writes templates as lines of text, and reads them again. */
const writeTemplates = (templates: Template[]) => templates.map(({ prompt, options }) => [prompt, ...options].join(" | ")).join("\n");

function readTemplates(text: string): Template[] {
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const [prompt = "", ...options] = line.split("|").map((part) => part.trim()).filter((part) => part !== "");
    if (options.length < 2) throw new Error(say("templatesBad", { name: line }));
    return { prompt, options };
  });
}

function save(helper: Helper, credential: Credential, form: HTMLFormElement): void {
  const fields = new FormData(form), address = String(fields.get("backend")).trim();
  [said, problem] = ["", ""];
  try {
    const backend = address === "" ? "" : findOrigin(address);
    if (backend === undefined) throw new Error(say("badAddress"));
    saveSettings(helper, { backend, templates: readTemplates(String(fields.get("templates"))) });
    said = say("saved");
  } catch (error) {
    problem = (error as Error).message;
  }
  draw(helper, credential);
}

/** Asks the backend that is typed, or else the extension's own, whether it takes this channel's requests. */
async function check(helper: Helper, credential: Credential, form: HTMLFormElement): Promise<void> {
  const backend = findOrigin(String(new FormData(form).get("backend")).trim()) ?? readExtensionBackend(helper);
  [said, problem] = ["", ""];
  try {
    const { api } = new Acclaim({ baseUrl: `${backend}/v1/e`, credential, attempts: 1 });
    await content(api.GET("/user_info"));
    said = say("works");
  } catch (error) {
    problem = explain(error);
  }
  draw(helper, credential);
}

function draw(helper: Helper, credential: Credential): void {
  const form = () => document.querySelector("form") as HTMLFormElement;
  render(
    <main>
      <form class="card" onSubmit={(event) => { event.preventDefault(); save(helper, credential, form()); }}>
        <h1>{say("settings")}</h1>
        <label>{say("backend")} <input name="backend" type="url" defaultValue={readOwnBackend(helper)} aria-describedby="backend-hint" /></label>
        <p class="hint" id="backend-hint">{say("backendHint", { name: readExtensionBackend(helper) })}</p>
        <label>{say("templates")} <textarea name="templates" rows={6} defaultValue={writeTemplates(readSettings(helper).templates)} aria-describedby="templates-hint" /></label>
        <p class="hint" id="templates-hint">{say("templatesHint")}</p>
        <p class="message" role="status">{said}</p>
        <p class="problem" role="alert">{problem}</p>
        <div class="buttons">
          <button type="submit">{say("save")}</button>
          <button type="button" class="quiet" onClick={() => void check(helper, credential, form())}>{say("check")}</button>
        </div>
      </form>
    </main>,
    document.body,
  );
}

const helper = findHelper();
if (helper) {
  followTheme(helper);
  const credential = fromPlatform(helper);
  helper.configuration.onChanged(() => draw(helper, credential));
  draw(helper, credential);
} else {
  render(<main><p class="card">{say("noPlatform")}</p></main>, document.body);
}
