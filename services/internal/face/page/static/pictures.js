// Pictures of options. They come from this server alone: a poll names them by their ids.

const side = 256; // pixels, the most that the server takes

// pictureAddress returns the address of a picture of a channel, "" for none. base is that of the API.
export function pictureAddress(base, client, channel, picture) {
  if (!picture) return "";
  return `${base.replace(/\/[^/]*$/, "")}/public/${[client, channel, picture].map(encodeURIComponent).join("/")}/picture.png`;
}

// showPicture shows the picture at an address in an element, or none where there is no picture.
export function showPicture(image, address) {
  if (address && image.getAttribute("src") === address) return;
  image.hidden = true;
  image.alt = ""; // the name of the option stands beside it
  image.onload = () => { image.hidden = false; };
  if (address) image.src = address;
  else image.removeAttribute("src");
}

// encodePicture returns a picture of any size and format that the browser reads, made small enough, in
// base64.
export async function encodePicture(file) {
  const bitmap = await createImageBitmap(file), scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/webp", 0.9).split(",")[1];
}
