//! Perplexity: research with web search. Only pages that the text marks are its citations.

use readings::ai::{CitationDraft, Findings, Generated, Research};
use serde::Deserialize;
use serde_json::json;

use crate::{
    budget::{Families, Rate},
    error::{Error, SourceErrorKind},
    generated::{self, INSTRUCTIONS, LIMITS, MAX_TOKENS},
    provenance::Sourced,
    source::{Fault, KeyRule, UpstreamSpec, upstream},
    transport::{Limits, Reply},
};

const SONAR: &str = "perplexity.sonar";

/// The model unless the configuration names another one.
const RESEARCH_MODEL: &str = "sonar-pro";

upstream!(
    /// Perplexity: research with web search.
    Perplexity,
    UpstreamSpec {
        name: "perplexity",
        urls: &[("base_url", "https://api.perplexity.ai")],
        key: KeyRule::Required,
        sources: &[SONAR],
        families: Families::One(Rate::per_minute(60)),
        models: true,
        limits: Limits {
            max_body_bytes: 4 * 1024 * 1024,
            ..LIMITS
        },
        ..UpstreamSpec::DATA
    }
);

#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    model: Option<String>,
    choices: Vec<Choice>,
    /// Addresses by their citation number. Older answers have only these.
    #[serde(default)]
    citations: Option<Vec<String>>,
    #[serde(default)]
    search_results: Option<Vec<Page>>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    finish_reason: Option<String>,
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: String,
}

#[derive(Clone, Deserialize)]
struct Page {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    num_search_queries: Option<u64>,
}

impl Perplexity {
    /// Researches a question on the web.
    ///
    /// # Errors
    ///
    /// When the upstream fails or does not finish its answer.
    pub async fn research(&self, prompt: &str) -> Result<Sourced<Generated<Research>>, Error> {
        let model = self
            .source
            .option("research_model")
            .unwrap_or(RESEARCH_MODEL);
        let body = json!({
            "model": model,
            "max_tokens": MAX_TOKENS,
            "messages": [
                { "role": "system", "content": INSTRUCTIONS },
                { "role": "user", "content": prompt },
            ],
        })
        .to_string();
        let ask = self
            .source
            .post(SONAR, "/chat/completions", &body)
            .secret_header("authorization", "Bearer ", self.source.api_key())
            .once();
        let found = self.source.ask(ask, |reply| {
            Ok::<_, Fault<Error>>(Generated::Made(read(reply, model)?))
        });
        found.await
    }
}

fn read(reply: &Reply, model: &str) -> Result<Research, SourceErrorKind> {
    let completion: Completion = generated::read(reply)?;
    let [choice] = <[Choice; 1]>::try_from(completion.choices)
        .map_err(|_| generated::malformed("$.choices", "one answer"))?;
    match choice.finish_reason.as_deref() {
        Some("stop") => {}
        Some("length") => return Err(generated::failure(Some("incomplete"))),
        _ => return Err(generated::malformed("$.choices[0].finish_reason", "stop")),
    }
    let listed = completion.citations.unwrap_or_default().into_iter();
    let listed = listed.map(|url| Page {
        url: Some(url),
        title: None,
    });
    // Both lists have the same order; the newer one has titles.
    let pages = completion
        .search_results
        .filter(|pages| !pages.is_empty())
        .unwrap_or_else(|| listed.collect());
    let text = choice.message.content;
    generated::research(
        Findings {
            citations: cited(&text, &pages),
            pages: pages.into_iter().filter_map(|page| page.url).collect(),
            model: generated::model(completion.model.as_deref(), model),
            searches: completion.usage.and_then(|usage| usage.num_search_queries),
            text,
        },
        "$.choices[0].message.content",
    )
}

/// The marks `[1]`, `[2]` of a text, with their pages. A mark without a page is no citation, and
/// neither is a page without a mark.
fn cited(text: &str, pages: &[Page]) -> Vec<CitationDraft> {
    let chars: Vec<char> = text.chars().collect();
    let mut drafts = Vec::new();
    for (start, _) in chars.iter().enumerate().filter(|(_, c)| **c == '[') {
        let inside = chars.iter().skip(start).skip(1);
        let digits: String = inside.take_while(|c| c.is_ascii_digit()).collect();
        let closing = start.saturating_add(digits.len()).saturating_add(1);
        if chars.get(closing) != Some(&']') {
            continue;
        }
        let number = digits.parse::<usize>().ok();
        let page = number
            .and_then(|number| number.checked_sub(1))
            .and_then(|index| pages.get(index));
        if let Some(Page {
            url: Some(url),
            title,
        }) = page
        {
            drafts.push(CitationDraft {
                url: url.clone(),
                title: generated::title(title.clone()),
                span: Some((start, closing.saturating_add(1))),
            });
        }
    }
    drafts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_counted_from_one_and_need_a_page() {
        let page = |url: &str| Page {
            url: Some(url.to_owned()),
            title: None,
        };
        let pages = [page("https://a.example/"), page("https://b.example/")];
        let found: Vec<_> = cited(
            "₮[1] x[2][1] [0] [3] [a] [] [2 [99999999999999999999999] [",
            &pages,
        )
        .into_iter()
        .map(|draft| (draft.url, draft.span))
        .collect();
        assert_eq!(
            found,
            [
                ("https://a.example/".to_owned(), Some((1, 4))),
                ("https://b.example/".to_owned(), Some((6, 9))),
                ("https://a.example/".to_owned(), Some((9, 12))),
            ]
        );
    }
}
