//! The OpenAPI 3.1 document, rendered from the tables of paid and free routes.

mod components;
mod operation;

use serde_json::{Map, Value as Json, json};

use crate::{Catalog, FREE_ROUTES, FreeRoute, Group, Operation, discovery::GUIDANCE, render};

/// The version of the paid interface. No path contains it.
const API_VERSION: &str = "1.0.0";

impl Catalog {
    /// Makes the OpenAPI document.
    pub fn openapi(&self) -> Json {
        let mut paths: Map<String, Json> = Map::new();
        for operation in Operation::ALL {
            let route = operation.route();
            let item = paths.entry(route.path).or_insert_with(|| json!({}));
            if let Some(item) = item.as_object_mut() {
                let method = route.method.as_str().to_ascii_lowercase();
                item.insert(
                    method,
                    operation::paid(operation, self.network(), self.offered()),
                );
            }
        }
        for route in FREE_ROUTES {
            let method = if route.takes_body { "post" } else { "get" };
            paths.insert(route.path.to_owned(), json!({ method: free(&route) }));
        }
        render::sorted(json!({
            "openapi": "3.1.0",
            "info": {
                "title": self.brand(),
                "version": API_VERSION,
                "summary": "Market data and wallet actions, paid per call",
                "description": "Every call is paid on chain through x402; there are no API keys. \
                                Every 200 is an object with `data` and `meta`. An unavailable \
                                field is null and listed in `meta.unavailable`.",
                "contact": self.contact_object(),
                "x-logo": {"url": format!("{}/icon.svg", self.base_url()), "altText": self.brand()},
                "x-guidance": GUIDANCE,
            },
            "servers": [{"url": self.base_url()}],
            "tags": tags(),
            "security": [],
            "paths": paths,
            "components": components::all(),
        }))
    }

    /// Makes the OpenAPI document as indented text.
    pub fn openapi_text(&self) -> String {
        render::sorted_pretty_json(self.openapi())
    }

    fn contact_object(&self) -> Json {
        let mut contact = json!({"name": self.brand()});
        let (key, value) = match self.contact() {
            Some(url) if url.starts_with("https://") || url.starts_with("http://") => ("url", url),
            Some(mail) => ("email", mail),
            None => ("url", self.base_url()),
        };
        if let Some(contact) = contact.as_object_mut() {
            contact.insert(key.to_owned(), value.into());
        }
        contact
    }
}

/// The tags of operations: paid or free, the family, and a tag for operations that registries leave
/// out.
fn tags() -> Json {
    let groups = Group::ALL
        .iter()
        .map(|group| json!({"name": group.slug(), "description": group.title()}));
    let charges = [
        json!({"name": "paid", "description": "Paid by the call"}),
        json!({"name": "free", "description": "Free of charge"}),
        json!({"name": operation::UNAVAILABLE, "description": "Not served in this configuration; see x-availability"}),
    ];
    charges.into_iter().chain(groups).collect()
}

fn free(route: &FreeRoute) -> Json {
    let schema = if route.media_type == "application/json" {
        json!({"type": "object"})
    } else {
        json!({"type": "string"})
    };
    let answer = |description: &str| {
        let media_type = route.media_type;
        json!({"description": description, "content": {media_type: {"schema": schema}}})
    };
    let mut responses = json!({"200": answer(route.summary)});
    if let (true, Some(responses)) = (route.may_be_unready, responses.as_object_mut()) {
        responses.insert("503".to_owned(), answer("Not ready, with the reasons"));
    }
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "tags": ["free"],
        "security": [],
        "responses": responses,
    });
    let Some(members) = operation.as_object_mut() else {
        return operation;
    };
    if route.takes_body {
        let body = json!({"required": true, "content": {"application/json": {"schema": {"type": "object"}}}});
        members.insert("requestBody".to_owned(), body);
    }
    if !route.parameters.is_empty() {
        let parameters = route.parameters.iter().map(|parameter| {
            let schema = json!({"type": "string", "pattern": parameter.pattern});
            json!({"name": parameter.name, "in": "path", "required": true, "schema": schema})
        });
        members.insert("parameters".to_owned(), parameters.collect());
    }
    if let Some(absent) = route.absent
        && let Some(responses) = members.get_mut("responses").and_then(Json::as_object_mut)
    {
        responses.insert("404".to_owned(), json!({"description": absent}));
    }
    operation
}
