//! An answer of the responses interface. It is whole only when it says `completed`: truncated and
//! failed answers also come with HTTP 200.

use readings::ai::{CitationDraft, Findings, Generated, Research};
use serde::Deserialize;

use crate::{error::SourceErrorKind, generated, transport::Reply};

#[derive(Deserialize)]
struct Response {
    status: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    error: Option<Failure>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
    #[serde(default)]
    output: Vec<Item>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    code: Option<String>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    r#type: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    action: Option<Action>,
    #[serde(default)]
    content: Option<Vec<Part>>,
}

#[derive(Deserialize)]
struct Action {
    r#type: String,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    sources: Option<Vec<Page>>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    url: Option<String>,
}

#[derive(Deserialize)]
struct Part {
    r#type: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    annotations: Vec<Annotation>,
}

#[derive(Deserialize)]
struct Annotation {
    r#type: String,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    start_index: Option<usize>,
    #[serde(default)]
    end_index: Option<usize>,
}

/// The text between two parts of an answer.
const BREAK: &str = "\n\n";

/// The answer.
pub(super) fn read(reply: &Reply, model: &str) -> Result<Generated<Research>, SourceErrorKind> {
    let response: Response = generated::read(reply)?;
    match response.status.as_str() {
        "completed" => {}
        "incomplete" => {
            let reason = response.incomplete_details.and_then(|it| it.reason);
            return match reason.as_deref() {
                Some("content_filter") => Ok(Generated::Blocked),
                _ => Err(generated::failure(Some("incomplete"))),
            };
        }
        "failed" => {
            let code = response.error.and_then(|error| error.code);
            return match code.as_deref() {
                Some("invalid_prompt") => Ok(Generated::Blocked),
                code => Err(generated::failure(code)),
            };
        }
        _ => return Err(generated::malformed("$.status", "completed")),
    }
    let mut found = Findings {
        model: generated::model(response.model.as_deref(), model),
        ..Findings::default()
    };
    let mut searches = 0_u64;
    for item in response.output {
        match (item.r#type.as_str(), item.action, item.content) {
            ("web_search_call", Some(action), _) => {
                let is_done = item.status.as_deref() == Some("completed");
                if is_done && action.r#type == "search" {
                    searches = searches.saturating_add(1);
                }
                let pages = action.sources.unwrap_or_default();
                found
                    .pages
                    .extend(pages.into_iter().filter_map(|page| page.url));
                found.pages.extend(action.url);
            }
            ("message", _, Some(parts)) => {
                if parts.iter().any(|part| part.r#type == "refusal") {
                    return Ok(Generated::Blocked);
                }
                let texts = parts
                    .into_iter()
                    .filter(|part| part.r#type == "output_text");
                texts.for_each(|part| add(&mut found, part));
            }
            _ => {}
        }
    }
    found.searches = Some(searches);
    generated::research(found, "$.output").map(Generated::Made)
}

/// Appends a part; its annotations count from its own beginning.
fn add(found: &mut Findings, part: Part) {
    if !found.text.is_empty() {
        found.text.push_str(BREAK);
    }
    let offset = found.text.chars().count();
    found.text.push_str(&part.text);
    let length = part.text.chars().count();
    for annotation in part.annotations {
        let Annotation {
            r#type,
            url: Some(url),
            title,
            start_index,
            end_index,
        } = annotation
        else {
            continue;
        };
        if r#type == "url_citation" {
            // An annotation beyond its own part would fall into the next one.
            let span = start_index.zip(end_index).filter(|(_, end)| *end <= length);
            let shift = |(start, end): (usize, usize)| {
                Some((start.checked_add(offset)?, end.checked_add(offset)?))
            };
            found.citations.push(CitationDraft {
                url,
                title: generated::title(title),
                span: span.and_then(shift),
            });
        }
    }
}
