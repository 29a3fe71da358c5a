//! Answers of the messages interface: blocks of text with their citations, and between them blocks
//! of searches with their results. A failed search is also a block, in an answer with HTTP 200.

use readings::ai::{CitationDraft, Findings, Research};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{error::SourceErrorKind, generated, transport::Reply};

/// One answer of the upstream: a whole turn of the model or the beginning of one.
pub(super) struct Turn {
    /// Its blocks, exactly as they came.
    pub(super) content: Vec<Box<RawValue>>,
    /// The model, by its own name.
    pub(super) model: Option<String>,
    /// The reason why the turn ended.
    pub(super) end: End,
    /// How many searches were made in it.
    pub(super) searches: Option<u64>,
}

/// The reason why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The answer is whole.
    Done,
    /// The turn goes on when it is sent back.
    Paused,
    /// The model does not answer this prompt.
    Refused,
}

#[derive(Deserialize)]
struct Message {
    content: Vec<Box<RawValue>>,
    #[serde(default)]
    model: Option<String>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    server_tool_use: Option<ToolUse>,
}

#[derive(Deserialize)]
struct ToolUse {
    #[serde(default)]
    web_search_requests: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
        #[serde(default)]
        citations: Option<Vec<Cited>>,
    },
    WebSearchToolResult {
        content: SearchResult,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Cited {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SearchResult {
    Pages(Vec<Page>),
    Failed { error_code: String },
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    url: Option<String>,
}

pub(super) fn read(reply: &Reply) -> Result<Turn, SourceErrorKind> {
    let message: Message = generated::read(reply)?;
    let end = match message.stop_reason.as_deref() {
        Some("end_turn" | "stop_sequence") => End::Done,
        Some("pause_turn") => End::Paused,
        Some("refusal") => End::Refused,
        Some("max_tokens" | "model_context_window_exceeded") => {
            return Err(generated::failure(Some("incomplete")));
        }
        _ => return Err(generated::malformed("$.stop_reason", "the end of the turn")),
    };
    let tools = message.usage.and_then(|usage| usage.server_tool_use);
    Ok(Turn {
        content: message.content,
        model: message.model,
        end,
        searches: tools.and_then(|tools| tools.web_search_requests),
    })
}

/// Joins all blocks of a turn into one answer.
pub(super) fn assemble(
    blocks: &[Box<RawValue>],
    model: String,
    searches: Option<u64>,
) -> Result<Research, SourceErrorKind> {
    let mut found = Findings {
        model,
        searches,
        ..Findings::default()
    };
    let mut failed = None;
    let mut is_interrupted = false;
    for (index, block) in blocks.iter().enumerate() {
        let block: Block = serde_json::from_str(block.get()).map_err(|_| {
            generated::malformed(&format!("$.content[{index}]"), "the documented form")
        })?;
        match block {
            Block::Text { text, citations } => {
                // Blocks follow each other in the middle of sentences; only a search comes between
                // paragraphs.
                if is_interrupted && !found.text.is_empty() {
                    found.text.push_str("\n\n");
                }
                is_interrupted = false;
                let start = found.text.chars().count();
                found.text.push_str(&text);
                let end = found.text.chars().count();
                let cited = citations.unwrap_or_default().into_iter();
                found.citations.extend(cited.filter_map(|cited| {
                    Some(CitationDraft {
                        url: cited.url?,
                        title: generated::title(cited.title),
                        span: Some((start, end)),
                    })
                }));
            }
            Block::WebSearchToolResult { content } => {
                is_interrupted = true;
                match content {
                    SearchResult::Pages(pages) => {
                        found
                            .pages
                            .extend(pages.into_iter().filter_map(|page| page.url));
                    }
                    // Our own limit of searches was reached: the model writes with the results that
                    // it has.
                    SearchResult::Failed { error_code } if error_code == "max_uses_exceeded" => {}
                    SearchResult::Failed { error_code } => failed = Some(error_code),
                }
            }
            Block::Other => is_interrupted = true,
        }
    }
    // An answer after a failed search rests on the model's memory, so it is not research.
    match failed {
        Some(code) if found.citations.is_empty() => Err(generated::failure(Some(&code))),
        _ => generated::research(found, "$.content"),
    }
}
