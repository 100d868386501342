// The pictures of a poll's options, for staff: one is chosen from a file, which the browser makes small.

import { Refused } from "./client.js";
import { listPictures } from "./channelpictures.js";
import { attempt, button, desk, id } from "./desk.js";
import { element, keepFocus } from "./dom.js";
import { encodePicture, pictureAddress, showPicture } from "./pictures.js";

export { listPictures };

// retryPictures asks again for the pictures of a poll that did not load.
export function retryPictures() {
  for (const image of id("picture-list").querySelectorAll("img[hidden][src]")) image.src = image.getAttribute("src");
}

let drawn = ""; // what the list shows

// showPictures lists the options of a poll with their pictures. save stores the ids of all of them.
export function showPictures(poll, save) {
  id("pictures").hidden = poll.global || poll.options.length === 0;
  const now = JSON.stringify([poll.id, poll.options, poll.pictures]);
  if (id("pictures").hidden || now === drawn) return;
  drawn = now;
  const change = (value, picture) => save(poll.options.map((_, n) => (n === value ? picture : poll.pictures?.[n] ?? "")));
  keepFocus(id("picture-list"), poll.options.map((option, value) => {
    const image = element("img", "", { class: "picture" }), current = poll.pictures?.[value];
    showPicture(image, pictureAddress(desk.client.base, desk.staff.extension, desk.staff.channel, current));
    const file = element("input", "", { type: "file", accept: "image/*", "aria-label": `Picture of ${option}` });
    file.addEventListener("change", () => attempt(async () => {
      const data = await encodePicture(file.files[0]).catch(() => { throw new Refused(0, "The browser cannot read this file as a picture."); });
      await change(value, (await desk.client.request("POST", "/pictures", { data })).id);
      await listPictures();
      id("picture-list").querySelectorAll("input")[value]?.focus(); // the list is another one
    }, file));
    const remove = button("Remove the picture", option, async () => { await change(value, ""); await listPictures(); });
    remove.hidden = !current;
    remove.dataset.key = value;
    return element("li", "", {}, image, element("bdi", option), file, remove);
  }), "");
}
