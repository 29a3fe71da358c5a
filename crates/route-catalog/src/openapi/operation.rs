//! The OpenAPI object of one paid operation.

use serde_json::{Map, Value as Json, json};
use x402_wire::Network;

use super::components::{ERROR_STATUSES, query_parameter};
use crate::{
    Offering, Operation, Route, Unserved, bazaar,
    common_query::COMMON_QUERY,
    discovery::capitalised,
    render::dollars,
    schema::{self, Detail},
};

/// The tag of operations that the server does not serve.
pub(super) const UNAVAILABLE: &str = "unavailable";

pub(super) fn paid(operation: Operation, network: Network, offering: &Offering) -> Json {
    let route = operation.route();
    let unserved = offering.of(operation);
    let mut tags = vec!["paid", operation.group().slug()];
    tags.extend(unserved.map(|_| UNAVAILABLE));
    let shown = |parameter| query_parameter(parameter, route.shows(parameter));
    let mut parameters: Vec<Json> = route.query.iter().map(shown).collect();
    parameters.extend(
        COMMON_QUERY
            .iter()
            .map(|known| known.name)
            .chain(["payment_signature", "x_max_age"])
            .map(|name| json!({"$ref": format!("#/components/parameters/{name}")})),
    );
    let mut object = json!({
        "operationId": operation.name(),
        "summary": route.summary,
        "description": description(route, unserved),
        "tags": tags,
        "security": [],
        "parameters": parameters,
        "responses": responses(operation),
        "x-payment-info": payment_info(route, network),
        "x-availability": offering.availability(operation),
        "x-bazaar": bazaar::bazaar(route),
    });
    if let (true, Some(members)) = (route.takes_body(), object.as_object_mut()) {
        members.insert("requestBody".to_owned(), request_body(route));
    }
    object
}

/// Makes the payment data for registries, in the form of the service's specification.
fn payment_info(route: &Route, network: Network) -> Json {
    json!({
        "protocols": ["x402"],
        "pricingMode": "fixed",
        "price": route.price.to_string(),
        "network": network.to_string(),
    })
}

fn description(route: &Route, unserved: Option<&Unserved>) -> String {
    let mut text = format!(
        "{} Price: {} a call. {}Refused uncharged when {}.",
        route.description,
        dollars(route.price),
        route
            .slowness()
            .map_or_else(String::new, |slowness| format!("{slowness} ")),
        route.refuses
    );
    if let Some(unserved) = unserved {
        text = format!("[{}] {text}", capitalised(&unserved.sentence()));
    }
    for constraint in route.constraints {
        text.push_str(" Rule: ");
        text.push_str(&constraint.to_string());
        text.push('.');
    }
    text
}

fn request_body(route: &Route) -> Json {
    json!({
        "required": true,
        "description": "Every value may also be text: a number or a boolean in its text form, a \
                        list or an object as JSON.",
        "content": {"application/json": {
            "schema": schema::of_members(route.body, route.constraints, Detail::Full),
            "example": route.example_call().body,
        }},
    })
}

fn responses(operation: Operation) -> Json {
    let mut responses = Map::new();
    for status in operation.answers() {
        responses.insert(status.to_string(), success(operation.route(), *status));
    }
    for status in ERROR_STATUSES {
        let reference = json!({"$ref": format!("#/components/responses/{status}")});
        responses.insert(status.to_string(), reference);
    }
    responses.into()
}

fn success(route: &Route, status: u16) -> Json {
    // A test of the table parses every example, so the fallback is never used.
    let mut data: Json = serde_json::from_str(route.example).unwrap_or(Json::Null);
    let description = match status {
        201 => "made and paid for",
        202 => "in progress and paid; `GET /intents/{id}` reports its end, free of charge",
        _ => "paid for",
    };
    if let (202, Some(data)) = (status, data.as_object_mut()) {
        // An unfinished action has not ended.
        data.remove("ended_at");
        if data.contains_key("status") {
            data.insert("status".to_owned(), "in_progress".into());
        }
    }
    let header = |name: &str| json!({"$ref": format!("#/components/headers/{name}")});
    json!({
        "description": format!("{}, {description}", route.summary),
        "headers": {
            "PAYMENT-RESPONSE": header("PAYMENT-RESPONSE"),
            "Content-Digest": header("Content-Digest"),
            "Age": header("Age"),
            "Cache-Control": header("Cache-Control"),
        },
        "content": {"application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "data": schema::of_answer(&data),
                    "meta": {"$ref": "#/components/schemas/Meta"},
                },
                "required": ["data", "meta"],
            },
            "example": {
                "data": data,
                "meta": {
                    "route": route.path,
                    "as_of": "2026-11-21T01:00:00Z",
                    "generated_at": "2026-11-21T01:00:04Z",
                    "age_seconds": 4,
                    "max_age_seconds": 60,
                    "verdict": "fresh",
                    "cache": "miss",
                    "request_id": "01JDB3X8M5",
                    "schema_version": "1",
                    "sources": [],
                    "unavailable": [],
                },
            },
        }},
    })
}
