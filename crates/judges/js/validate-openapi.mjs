// Judges an OpenAPI document with @seriousme/openapi-schema-validator.
//
// in:  the document
// out: {valid, version, errors}

import { Validator } from "@seriousme/openapi-schema-validator";

import { readOrder, report } from "./io.mjs";

const validator = new Validator();
const { valid, errors } = await validator.validate(await readOrder());
report({ valid, version: validator.version ?? null, errors: errors ?? [] });
