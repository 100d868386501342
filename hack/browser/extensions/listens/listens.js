// A view that shows what it hears, sends, and sells.
const { ext } = window.Twitch;
const at = (id) => document.getElementById(id);

const hear = (target, contentType, message) => {
  at("messages").append(Object.assign(document.createElement("li"), { textContent: `${target} ${contentType} ${message}` }));
};
ext.listen("broadcast", hear);
ext.onAuthorized(({ userId }) => ext.listen(`whisper-${userId}`, hear));
ext.onError((reason) => { at("failure").textContent = reason; });
ext.bits.onTransactionCancelled(() => { at("sale").textContent = "cancelled"; });
ext.bits.onTransactionComplete(({ initiator, product, transactionReceipt, userId }) => {
  at("sale").textContent = `${initiator} ${userId} ${product.sku} ${product.cost.amount}`;
  document.body.dataset.receipt = transactionReceipt;
});
at("send").onclick = () => ext.send("broadcast", "application/json", { boss: "down" });
at("deaf").onclick = () => ext.unlisten("broadcast", hear);
at("buy").onclick = async () => {
  const [product] = await ext.bits.getProducts();
  ext.bits.useBits(product.sku);
};
at("minimize").onclick = () => ext.actions.minimize();
