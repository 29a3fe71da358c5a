//! The table of routes as Markdown, as text in columns, and as JSON.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::{
    Counts, Operation, Parameter, Route,
    render::{dollars, sorted},
};

/// Makes the Markdown table of all routes for the documentation. `page` returns the link to an
/// operation's own page, if it has one.
pub fn docs_table(page: impl Fn(Operation) -> Option<String>) -> String {
    let mut table = String::from(
        "| Method | Path | Price | Parameters | Purpose | Refused uncharged when |\n\
         |---|---|---|---|---|---|\n",
    );
    for operation in Operation::ALL {
        let route = operation.route();
        let parameters = match parameter_list(route) {
            list if list.is_empty() => "none".to_owned(),
            list => list,
        };
        let path = match page(operation) {
            Some(link) => format!("[`{}`]({link})", route.path),
            None => format!("`{}`", route.path),
        };
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            table,
            "| {} | {path} | {} | {parameters} | {} | {} |",
            route.method,
            dollars(route.price),
            purpose(route),
            route.refuses
        );
    }
    table
}

/// Makes a text with the routes in columns and their counts.
pub fn routes_table() -> String {
    let mut table = String::new();
    for operation in Operation::ALL {
        let route = operation.route();
        let _ = writeln!(
            table,
            "{:<6}  {:<26}  {:<7}  {}",
            route.method.as_str(),
            route.path,
            dollars(route.price),
            purpose(route)
        );
    }
    let Counts {
        operations,
        paths,
        resources,
    } = Counts::of_table();
    let _ = writeln!(
        table,
        "{operations} operations, {paths} paths, {resources} resources"
    );
    table
}

/// Makes `{"operations": …, "paths": …, "resources": …, "routes": […]}`.
pub fn routes_json() -> Json {
    let Counts {
        operations,
        paths,
        resources,
    } = Counts::of_table();
    let routes: Vec<_> = Operation::ALL.into_iter().map(row).collect();
    sorted(json!({
        "operations": operations,
        "paths": paths,
        "resources": resources,
        "routes": routes,
    }))
}

fn row(operation: Operation) -> Json {
    let route = operation.route();
    let names = |parameters: &[Parameter]| -> Vec<Json> {
        parameters
            .iter()
            .map(|parameter| {
                json!({
                    "name": parameter.name,
                    "required": parameter.is_required(),
                    "default": parameter.default(),
                    "rule": parameter.rule.expected(),
                })
            })
            .collect()
    };
    json!({
        "operation": operation.name(),
        "method": route.method.as_str(),
        "path": route.path,
        "price_usd": route.price.to_string(),
        "summary": route.summary,
        "query": names(route.query),
        "body": names(route.body),
        "core": route.core,
        "work_seconds": route.work_seconds,
    })
}

/// Returns the summary, and the time of an answer that may take long.
fn purpose(route: &Route) -> String {
    match route.slowness() {
        Some(slowness) => format!("{}. {slowness}", route.summary),
        None => route.summary.to_owned(),
    }
}

/// Lists the parameters of a route: `token`, `amount?`, `slippage = 1`, …
fn parameter_list(route: &Route) -> String {
    let list: Vec<_> = route
        .query
        .iter()
        .chain(route.body)
        .map(|parameter| match parameter.default() {
            Some(default) => format!("`{} = {default}`", parameter.name),
            None if parameter.is_required() => format!("`{}`", parameter.name),
            None => format!("`{}?`", parameter.name),
        })
        .collect();
    list.join(", ")
}
