// Judges messages by the JSON Schemas of the protocol's revisions. The conformance suite carries both inside its bundle, as
// object literals; they are read from there.
//
// in:  [{revision, method|null, message}]; method is that of the request which the message answers
// out: [[problem]], one list for each message

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";

import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

import { readOrder, report } from "./io.mjs";

const BUNDLE = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const START = "{$schema:`https://json-schema.org/draft/2020-12/schema`,$defs:{Annotations:";

/** The text of the object literal that starts at `start`. */
function literal(text, start) {
  let depth = 0;
  let quote = null;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (quote !== null) {
      if (character === "\\") at += 1;
      else if (character === quote) quote = null;
    } else if (character === '"' || character === "'" || character === "`") {
      quote = character;
    } else if (character === "{") {
      depth += 1;
    } else if (character === "}") {
      depth -= 1;
      if (depth === 0) return text.slice(start, at + 1);
    }
  }
  throw new Error("an object literal without an end");
}

/** The schemas by revision. */
function schemas() {
  const text = readFileSync(join(process.env.JUDGES_JS, BUNDLE), "utf8");
  const found = {};
  for (let at = text.indexOf(START); at !== -1; at = text.indexOf(START, at + 1)) {
    const schema = runInNewContext(`(${literal(text, at)})`);
    // Discovery came with the newer revision, and tasks left the core with it.
    const { DiscoverResult, Task } = schema.$defs;
    if (DiscoverResult && !Task) found["2026-07-28"] = schema;
    if (Task && !DiscoverResult) found["2025-11-25"] = schema;
  }
  return found;
}

/** Validators of one revision, by the name of a definition. */
function validators(revision, schema) {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addFormat("byte", true);
  ajv.addSchema({ ...JSON.parse(JSON.stringify(schema)), $id: revision });
  return (name) => {
    if (!(name in schema.$defs)) throw new Error(`${revision} has no ${name}`);
    return ajv.getSchema(`${revision}#/$defs/${name}`);
  };
}

const RESULTS = {
  initialize: "InitializeResult",
  ping: "EmptyResult",
  "server/discover": "DiscoverResult",
  "tools/call": "CallToolResult",
  "tools/list": "ListToolsResult",
};

/** The definition of the error with a code, where the revision has one. */
function errorDefinition({ $defs }, code) {
  const named = Object.entries($defs).find(([, { properties }]) =>
    properties?.error?.allOf?.some((part) => part.properties?.code?.const === code),
  );
  return named?.[0] ?? "JSONRPCErrorResponse";
}

const known = schemas();
const compiled = Object.fromEntries(
  Object.entries(known).map(([revision, schema]) => [revision, validators(revision, schema)]),
);
if (Object.keys(compiled).sort().join() !== "2025-11-25,2026-07-28") {
  throw new Error(`schemas of ${Object.keys(compiled)}`);
}

function judge({ revision, method, message }) {
  const problems = [];
  const check = (name, value) => {
    const validate = compiled[revision](name);
    if (validate(value)) return;
    for (const { instancePath, message: text, params } of validate.errors) {
      problems.push(`${name}${instancePath}: ${text} ${JSON.stringify(params)}`);
    }
  };
  check("JSONRPCMessage", message);
  if (message.error !== undefined) {
    check(errorDefinition(known[revision], message.error.code), message);
  } else if (message.result !== undefined) {
    const name = RESULTS[method];
    if (name === undefined) throw new Error(`no result is expected for ${method}`);
    check("JSONRPCResultResponse", message);
    check(name, message.result);
  } else {
    problems.push("neither a result nor an error");
  }
  return problems;
}

report((await readOrder()).map(judge));
