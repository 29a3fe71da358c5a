//! The parts of the OpenAPI document that all operations share: `meta`, errors, the 402 answer, and
//! headers.

use serde_json::{Map, Value as Json, json};

use crate::{
    ErrorCode, Next, Parameter, Rule,
    common_query::COMMON_QUERY,
    schema::{self, Detail},
};

/// The error statuses that every operation may answer, ascending.
pub(super) const ERROR_STATUSES: [u16; 12] =
    [400, 402, 404, 405, 409, 413, 415, 422, 429, 431, 500, 503];

pub(super) fn all() -> Json {
    json!({
        "parameters": parameters(),
        "headers": headers(),
        "responses": responses(),
        "schemas": schemas(),
    })
}

fn parameters() -> Json {
    let mut parameters: Map<String, Json> = COMMON_QUERY
        .iter()
        .map(|parameter| (parameter.name.to_owned(), query_parameter(parameter, false)))
        .collect();
    parameters.insert(
        "payment_signature".to_owned(),
        json!({
            "name": "PAYMENT-SIGNATURE",
            "in": "header",
            "required": false,
            "description": "Base64 of an x402 version 2 PaymentPayload. Without it the answer is \
                            402.",
            "schema": {"type": "string", "contentEncoding": "base64"},
        }),
    );
    parameters.insert(
        "x_max_age".to_owned(),
        json!({
            "name": "X-Max-Age",
            "in": "header",
            "required": false,
            "description": "The same as `max_age`.",
            "schema": {"type": "integer", "minimum": 0},
        }),
    );
    parameters.into()
}

fn headers() -> Json {
    let text =
        |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let seconds = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    json!({
        "PAYMENT-REQUIRED": text("Base64 of the PaymentRequired JSON (x402 version 2)."),
        "PAYMENT-RESPONSE": text("Base64 of the settlement receipt (x402 version 2)."),
        "Content-Digest": text("Digest of the body (RFC 9530): sha-256=:base64:."),
        "Age": seconds("Age of the data in seconds."),
        "Cache-Control": text("`private`, with the seconds for which the answer stays fresh."),
        "Retry-After": seconds("Seconds to wait before the next attempt."),
        "Allow": text("The methods that the path takes."),
    })
}

fn responses() -> Json {
    ERROR_STATUSES
        .iter()
        .map(|status| (status.to_string(), response(*status)))
        .collect::<Map<_, _>>()
        .into()
}

fn response(status: u16) -> Json {
    let codes: Vec<_> = ErrorCode::with_status(status).collect();
    let meanings: Vec<_> = codes
        .iter()
        .map(|code| format!("`{}`: {}", code.code(), code.meaning()))
        .collect();
    let schema = if status == ErrorCode::PaymentRequired.status() {
        json!({"$ref": "#/components/schemas/PaymentRequired"})
    } else {
        let names: Vec<_> = codes.iter().map(|code| code.code()).collect();
        json!({
            "allOf": [{"$ref": "#/components/schemas/Error"}],
            "properties": {"error": {"properties": {"code": {"enum": names}}}},
        })
    };
    let charge = match status {
        402 => "Not charged, unless `next` is `wait`: then the payment may still be charged.",
        409 => "Not charged by this call.",
        _ if codes.contains(&ErrorCode::SettlementPending) => {
            "Not charged, unless a pending settlement turns out to have succeeded; the same \
             payment then fetches its answer."
        }
        _ => "Not charged.",
    };
    let mut response = json!({
        "description": format!("{charge} {}", meanings.join(" ")),
        "content": {"application/json": {"schema": schema}},
    });
    let header = match status {
        402 => Some("PAYMENT-REQUIRED"),
        405 => Some("Allow"),
        429 | 503 => Some("Retry-After"),
        _ => None,
    };
    if let (Some(name), Some(response)) = (header, response.as_object_mut()) {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        response.insert("headers".to_owned(), json!({name: reference}));
    }
    response
}

fn schemas() -> Json {
    json!({
        "Meta": meta(),
        "Error": error(),
        "PaymentRequired": payment_required(),
        "PaymentRequirements": payment_requirements(),
        "Refusal": refusal(),
        "Next": Next::schema(),
    })
}

fn time() -> Json {
    json!({"type": "string", "format": "date-time"})
}

fn meta() -> Json {
    json!({
        "type": "object",
        "description": "How old the data is and where it comes from.",
        "properties": {
            "route": {"type": "string"},
            "as_of": {"type": "string", "format": "date-time",
                      "description": "The oldest upstream data time used."},
            "generated_at": time(),
            "age_seconds": {"type": "integer", "minimum": 0,
                            "description": "Now less `as_of`, computed when answering."},
            "max_age_seconds": {"type": "integer", "minimum": 0,
                                "description": "The age up to which the answer is fresh; in an \
                                                answer with sections, no section is fresh beyond \
                                                it."},
            "verdict": {"type": "string", "enum": ["fresh", "stale"]},
            "cache": {"type": "string"},
            "request_id": {"type": "string"},
            "schema_version": {"type": "string"},
            "sections": {"type": "array",
                         "description": "The sections of an answer, each with its own time and \
                                         bound. The answer is fresh while all of them are.",
                         "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "as_of": time(),
                    "age_seconds": {"type": "integer", "minimum": 0},
                    "max_age_seconds": {"type": "integer", "minimum": 0},
                    "verdict": {"type": "string", "enum": ["fresh", "stale"]},
                },
                "required": ["name", "as_of", "age_seconds", "max_age_seconds", "verdict"],
            }},
            "sources": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "status": {"type": "string"},
                    "as_of": time(),
                    "latency_ms": {"type": "integer", "minimum": 0},
                    "reason": {"type": "string"},
                    "mode": {"type": "string", "enum": ["live", "replay"],
                             "description": "`replay`: answered from a recording."},
                },
                "required": ["id", "status"],
            }},
            "unavailable": {"type": "array", "items": {
                "type": "object",
                "description": "An unavailable field.",
                "properties": {
                    "field": {"type": "string"},
                    "reason": {"type": "string"},
                    "source": {"type": "string"},
                },
                "required": ["field", "reason"],
            }},
            "cut": {"type": "array", "items": {
                "type": "object",
                "description": "A list that is not whole.",
                "properties": {
                    "field": {"type": "string"},
                    "shown": {"type": "integer", "minimum": 0},
                    "total": {"type": "integer", "minimum": 0},
                },
                "required": ["field", "shown", "total"],
            }},
            "warnings": {"type": "array", "items": {
                "type": "object",
                "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                "required": ["code", "message"],
            }},
            "attribution": {"type": "array", "items": {
                "type": "object",
                "description": "The text that a source requires where its data is shown.",
                "properties": {
                    "upstream": {"type": "string"},
                    "text": {"type": "string"},
                    "url": {"type": "string", "format": "uri"},
                },
                "required": ["upstream", "text", "url"],
            }},
            "provenance": {"type": "object", "additionalProperties": {
                "type": "object",
                "properties": {
                    "source": {"type": "string"},
                    "as_of": time(),
                    "method": {"type": "string", "enum": ["direct", "derived", "median"]},
                },
            }},
        },
        "required": ["as_of", "age_seconds", "verdict", "sources", "unavailable"],
    })
}

fn error() -> Json {
    json!({
        "type": "object",
        "properties": {"error": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "charged": {"const": false},
                "retryable": {"type": "boolean"},
                "request_id": {"type": "string"},
                "reason": {"type": "string"},
                "next": {"$ref": "#/components/schemas/Next"},
                "transaction": {"type": "string",
                                "description": "The settled transaction of the payment."},
                "missing": {"type": "array", "items": {"type": "string"}},
                "problems": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "code": {"type": "string"},
                        "message": {"type": "string"},
                        "expected": {"type": "string"},
                        "observed": {"type": "string"},
                    },
                    "required": ["path", "code", "message"],
                }},
            },
            "required": ["code", "message", "charged", "retryable", "request_id"],
        }},
        "required": ["error"],
    })
}

fn payment_required() -> Json {
    json!({
        "type": "object",
        "description": "The accepted payments and the exact price; the PAYMENT-REQUIRED header \
                        carries the same without `extensions.bazaar`, `outputSchema`, \
                        `missingParams` and `refusal`.",
        "properties": {
            "x402Version": {"const": x402_wire::X402_VERSION},
            "error": {"type": "string",
                      "description": "Begins with what happened to the money."},
            "resource": {
                "type": "object",
                "properties": {
                    "url": {"type": "string", "format": "uri"},
                    "description": {"type": "string"},
                    "mimeType": {"type": "string"},
                },
                "required": ["url"],
            },
            "accepts": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/PaymentRequirements"},
            },
            "extensions": {
                "type": "object",
                "properties": {"availability": {
                    "type": "object",
                    "description": "Only where the operation is not served: its `info` states the \
                                    reason and the missing configuration.",
                }},
            },
            "outputSchema": {
                "type": "object",
                "description": "The parameters of a call: where each one goes, its type, and \
                                whether it must be there. Every value may also be text.",
                "properties": {
                    "method": {"type": "string"},
                    "input": {"type": "object", "additionalProperties": {
                        "type": "object",
                        "properties": {
                            "carrier": {"type": "string", "enum": ["query", "body"]},
                            "type": {"type": "string"},
                            "required": {"type": "boolean"},
                        },
                        "required": ["carrier", "type", "required"],
                    }},
                },
                "required": ["method", "input"],
            },
            "missingParams": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The required query parameters that this GET lacked.",
            },
            "refusal": {"$ref": "#/components/schemas/Refusal"},
        },
        "required": ["x402Version", "resource", "accepts"],
    })
}

fn payment_requirements() -> Json {
    let address = json!({"type": "string", "pattern": "^0x[a-fA-F0-9]{40}$"});
    json!({
        "type": "object",
        "properties": {
            "scheme": {"type": "string", "enum": ["exact", "aggr_deferred"]},
            "network": {"type": "string"},
            "amount": {"type": "string", "pattern": "^\\d+$",
                       "description": "In the asset's smallest unit."},
            "asset": address,
            "payTo": address,
            "maxTimeoutSeconds": {"type": "integer", "minimum": 0},
            "extra": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "version": {"type": "string"}},
                "required": ["name", "version"],
            },
        },
        "required":
            ["scheme", "network", "amount", "asset", "payTo", "maxTimeoutSeconds", "extra"],
    })
}

fn refusal() -> Json {
    json!({
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "reason": {"type": "string"},
            "charged": {"const": false},
            "retryable": {"type": "boolean"},
            "request_id": {"type": "string"},
            "next": {"$ref": "#/components/schemas/Next"},
            "unpayable_schemes": {"type": "array", "items": {"type": "string"},
                                  "description": "Schemes of `accepts` that cannot pay for this request here."},
        },
        "required": ["code", "reason", "charged", "retryable", "request_id", "next"],
    })
}

/// Makes a parameter object of OpenAPI. Only parameters of the example call have an example, so
/// that the examples of an operation together make a call that is served.
pub(super) fn query_parameter(parameter: &Parameter, shown: bool) -> Json {
    let mut object = json!({
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required(),
        "description": schema::describe(parameter),
        "schema": schema::of_parameter(parameter, Detail::Full),
    });
    if let (true, Some(members)) = (shown, object.as_object_mut()) {
        members.insert("example".to_owned(), parameter.example_json());
    }
    // The description moves out of the schema to the parameter. Callers write lists with commas.
    if let Some(schema) = object.get_mut("schema").and_then(Json::as_object_mut) {
        schema.remove("description");
        if schema.remove("items").is_some() {
            schema.insert("type".to_owned(), "string".into());
        }
    }
    if let (true, Rule::Chains(_), Some(object)) = (shown, parameter.rule, object.as_object_mut()) {
        object.insert("example".to_owned(), parameter.example.into());
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_documented_status() {
        for code in ErrorCode::ALL {
            assert!(ERROR_STATUSES.contains(&code.status()), "{code}");
        }
        for status in ERROR_STATUSES {
            assert!(ErrorCode::with_status(status).next().is_some(), "{status}");
        }
    }
}
