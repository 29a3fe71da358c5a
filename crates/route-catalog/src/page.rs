//! The page of one route for the documentation.

use std::fmt::Write as _;

use crate::{Parameter, Route, common_query::COMMON_QUERY, render::dollars};

/// Makes a page in Markdown: the price, the parameters, the reasons for a refusal, and an answer.
///
/// `answer` is the whole JSON body of a 200 answer. `sources` are the ids of its sources.
/// `fresh_seconds` is its `meta.max_age_seconds`.
pub fn docs_page(
    route: &Route,
    call: &str,
    answer: &str,
    sources: &[String],
    fresh_seconds: u64,
) -> String {
    let mut page = String::new();
    // Writing to a `String` cannot fail.
    let _ = write!(
        page,
        "# {} {}\n\n{}\n\n**Price** {} per delivered answer.{}\n\n",
        route.method,
        route.path,
        route.description,
        dollars(route.price),
        route
            .slowness()
            .map_or_else(String::new, |slowness| format!(" {slowness}"))
    );
    let members = route.query.iter().chain(route.body);
    let _ = write!(
        page,
        "## Parameters\n\n| Name | | Form | Meaning |\n|---|---|---|---|\n"
    );
    for parameter in members.chain(&COMMON_QUERY) {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            parameter.name,
            presence(parameter),
            parameter.rule.expected().replace('|', "\\|"),
            parameter.description.replace('|', "\\|")
        );
    }
    for constraint in route.constraints {
        let _ = write!(page, "\n{constraint}.\n");
    }
    let datasets: Vec<_> = route
        .datasets
        .iter()
        .map(|dataset| format!("`{}`", dataset.name()))
        .collect();
    let ids: Vec<_> = sources.iter().map(|id| format!("`{id}`")).collect();
    let _ = writeln!(
        page,
        "\n## Freshness and sources\n\nThe answer below counts as fresh up to an age of {fresh_seconds} s (`meta.max_age_seconds`): one \
         of several parts is\nfresh while each part is, by the bounds in `meta.sections`. Older data is labelled `stale`, or refused when the caller sends `max_age`. In \
         the answer\nbelow: {}.",
        ids.join(", ")
    );
    if !datasets.is_empty() {
        let _ = writeln!(
            page,
            "It reads, or falls back on, datasets whose age `/freshness` shows for free: {}.",
            datasets.join(", ")
        );
    }
    let _ = write!(
        page,
        "\n## Refused without charge\n\nWhen {}. Also when a parameter is invalid, and for the reasons that apply to every route: see [ERRORS](../ERRORS.md).\n",
        route.refuses
    );
    let _ = write!(
        page,
        "\n## Answer\n\n`{call}`, from recorded upstream answers (`mode: replay`):\n\n```json\n{answer}\n```\n"
    );
    page
}

fn presence(parameter: &Parameter) -> String {
    match parameter.default() {
        Some(default) => format!("`{default}`"),
        None if parameter.is_required() => "required".to_owned(),
        None => "optional".to_owned(),
    }
}
