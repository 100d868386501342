// build.mjs bundles the worker and gives its script as a text.
declare module "worker:script" {
  const script: string;
  export default script;
}
