//! Reads the example calls out of each document that publishes them.

use std::collections::{BTreeMap, BTreeSet};

use route_catalog::Operation;
use serde_json::Value;

/// A call in a document: method, path with query, body.
pub(super) type Published = (String, String, Option<Value>);

/// The names of the documents that publish each call.
pub(super) type Calls = BTreeMap<(String, String, String), BTreeSet<&'static str>>;

pub(super) fn publish(calls: &mut Calls, place: &'static str, (method, target, body): Published) {
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    calls
        .entry((method, target, body))
        .or_default()
        .insert(place);
}

/// The value of a parameter's example in the form of a query.
pub(super) fn in_query(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    url::form_urlencoded::byte_serialize(text.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}

/// The call that the examples of an operation's parameters and body make together.
pub(super) fn of_openapi(document: &Value, path: &str, method: &str) -> Published {
    let operation = &document["paths"][path][method.to_lowercase()];
    let mut query = Vec::new();
    for parameter in operation["parameters"].as_array().unwrap() {
        let parameter = match parameter["$ref"].as_str() {
            Some(pointer) => document.pointer(pointer.trim_start_matches('#')).unwrap(),
            None => parameter,
        };
        if let (Some(example), "query") =
            (parameter.get("example"), parameter["in"].as_str().unwrap())
        {
            query.push(format!(
                "{}={}",
                parameter["name"].as_str().unwrap(),
                in_query(example)
            ));
        }
    }
    let body = operation.pointer("/requestBody/content/application~1json/example");
    (method.to_owned(), with_query(path, &query), body.cloned())
}

pub(super) fn with_query(path: &str, query: &[String]) -> String {
    match query.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", query.join("&")),
    }
}

/// The call that `bazaar` shows in a 402.
pub(super) fn of_challenge(challenge: &Value, path: &str) -> Published {
    let input = &challenge["extensions"]["bazaar"]["info"]["input"];
    let query: Vec<String> = input["queryParams"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", in_query(value)))
        .collect();
    let method = input["method"].as_str().unwrap().to_owned();
    (method, with_query(path, &query), input.get("body").cloned())
}

/// The calls of `/llms.txt`.
pub(super) fn of_llms(text: &str, base: &str) -> Vec<Published> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- Example: "));
    lines
        .map(|line| {
            let (call, body) = match line.split_once(" with the body `") {
                Some((call, body)) => (call, Some(body.trim_end_matches('`'))),
                None => (line, None),
            };
            let (method, url) = call.split_once(' ').unwrap();
            let body = body.map(|body| serde_json::from_str(body).unwrap());
            (
                method.to_owned(),
                url.strip_prefix(base).unwrap().to_owned(),
                body,
            )
        })
        .collect()
}

/// The calls of the page's `curl` lines.
pub(super) fn of_page(html: &str, base: &str) -> Vec<Published> {
    let html = html
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
        .replace("&gt;", ">")
        .replace("&lt;", "<");
    let lines = html
        .lines()
        .filter_map(|line| Some(line.split_once("<code>curl -i ")?.1));
    lines
        .map(|line| {
            let line = line.split("</code>").next().unwrap();
            let quoted: Vec<&str> = line.split('\'').skip(1).step_by(2).collect();
            let method = line
                .strip_prefix("-X ")
                .map_or("GET", |rest| rest.split(' ').next().unwrap());
            let body = line
                .contains(" -d ")
                .then(|| serde_json::from_str(quoted[1]).unwrap());
            let url = quoted.last().unwrap();
            (
                method.to_owned(),
                url.strip_prefix(base).unwrap().to_owned(),
                body,
            )
        })
        .collect()
}

/// The call of an operation's page in `docs/routes`.
pub(super) fn of_docs(operation: Operation) -> Option<Published> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/routes/");
    let page = std::fs::read_to_string(format!("{folder}{}.md", operation.name())).ok()?;
    let line = page.lines().find_map(|line| {
        line.strip_suffix("`, from recorded upstream answers (`mode: replay`):")
    })?;
    let mut words = line.trim_start_matches('`').splitn(3, ' ');
    let (method, target) = (words.next()?, words.next()?);
    let body = words.next().map(|body| serde_json::from_str(body).unwrap());
    Some((method.to_owned(), target.to_owned(), body))
}
