// Lets a script of this folder import the packages installed in the folder that JUDGES_JS names:
//
//     JUDGES_JS=/some/folder node --import ./packages.mjs SCRIPT.mjs
//
// Loaded as a preload on the main thread it registers itself as a resolution hook; on the hook
// thread only `resolve` is used.

import { register } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";

if (isMainThread) register(import.meta.url);

/** Resolves a package name as if a file of the JUDGES_JS folder had imported it. */
export function resolve(specifier, context, next) {
  const isPackage = !/^(\.{0,2}\/|#|[a-z]+:)/.test(specifier);
  const fromScripts = context.parentURL?.startsWith(new URL(".", import.meta.url).href);
  if (!isPackage || !fromScripts) return next(specifier, context);
  const parentURL = pathToFileURL(join(process.env.JUDGES_JS, "package.json")).href;
  return next(specifier, { ...context, parentURL });
}
