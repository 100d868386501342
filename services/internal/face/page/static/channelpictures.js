// The pictures of a channel, for staff: how large they are, which polls show them, and their deletion.

import { desk, button, id, list, named, number, on } from "./desk.js";
import { element, keepFocus, later, takeTurns } from "./dom.js";
import { pictureAddress, showPicture } from "./pictures.js";

const mostPages = 20; // of polls, which staff may have without end

// readUses returns the questions of the polls that show a picture, by its id, and whether these are all.
async function readUses() {
  const uses = new Map();
  let cursor = "";
  for (let page = 0; page < mostPages; page++) {
    const { polls, next } = await desk.client.request("GET", `/polls?${new URLSearchParams({ limit: 50, ...(cursor && { cursor }) })}`);
    for (const poll of polls) {
      for (const picture of new Set(poll.pictures)) if (picture) uses.set(picture, [...uses.get(picture) ?? [], `“${poll.prompt || poll.id}”`]);
    }
    if (!next) return [uses, true];
    cursor = next;
  }
  return [uses, false];
}

// listPictures lists the pictures while staff looks at them.
export const listPictures = takeTurns(async () => {
  if (!id("channel-pictures").open || !desk.rights.includes("polls")) return;
  const [{ pictures }, [uses, all]] = await Promise.all([desk.client.request("GET", "/pictures"), readUses()]);
  keepFocus(id("channel-picture-list"), pictures.map((picture, n) => {
    const shown = uses.get(picture.id), image = element("img", "", { class: "picture" });
    showPicture(image, pictureAddress(desk.client.base, desk.staff.extension, desk.staff.channel, picture.id));
    const use = shown ? `in use by ${list.format(shown)}` : all ? "in no poll" : "in none of the polls that were read";
    const name = `picture ${n + 1}`, erase = button("Delete", `${name}, ${use}`, () => remove(picture, `${name}, ${use}`));
    erase.dataset.key = picture.id;
    const size = `${picture.width} × ${picture.height} pixels, ${number.format(Math.ceil(picture.bytes / 1024))} KB`;
    return element("li", "", {}, image, element("span", size), element("bdi", use), erase);
  }), "The channel has no pictures.");
});

// remove deletes a picture after a wait. It does so for the sign-in that asked for it, and not for a later one.
async function remove(picture, name) {
  const client = desk.client, pictures = id("channel-picture-list");
  pictures.inert = true; // one at a time can be taken back
  try {
    await later(id("picture-pending"), `Deleting ${name}`, async () => {
      if (client !== desk.client || !desk.signedIn) return;
      await client.request("DELETE", `/pictures${named(picture.id)}`);
    });
  } finally {
    pictures.inert = false;
    id("channel-picture-list-title").focus(); // the button that had the focus is gone
  }
  await listPictures();
}

on("channel-pictures", "toggle", listPictures);
