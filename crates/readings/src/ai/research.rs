//! A researched answer: the text of a model, with its citations and the pages that its searches
//! found.

use serde::Serialize;

use super::{Citation, CitationDraft, citation::public_url, markdown, sanitise};

/// The most citations of an answer, and the most pages that it lists.
const MAX_LISTED: usize = 200;

/// The unchecked output of a model and its searches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The answer, in Markdown.
    pub text: String,
    /// The citations of the answer.
    pub citations: Vec<CitationDraft>,
    /// Addresses of the pages that the searches found.
    pub pages: Vec<String>,
    /// The model, by its own name.
    pub model: String,
    /// The number of searches, if it is stated.
    pub searches: Option<u64>,
}

/// A researched answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Research {
    /// The answer, in Markdown without HTML and images, with links to the web only.
    pub answer_markdown: String,
    /// The citations, in the order of the text.
    pub citations: Vec<Citation>,
    /// Addresses of the pages that the searches found, the cited ones first.
    pub sources: Vec<String>,
    /// The model, by its own name.
    pub model: String,
    /// The number of searches, if it is stated.
    pub searches: Option<u64>,
}

/// Why findings are not an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResearchError {
    /// There is no text.
    #[error("the answer has no text")]
    Empty,
    /// The text is too long.
    #[error("the answer has {observed} characters, at most {expected} are passed on")]
    TooLong {
        /// The most characters.
        expected: usize,
        /// The number of characters.
        observed: usize,
    },
}

impl Findings {
    /// Checks the findings: sanitises the text, checks the citations and the pages, and removes
    /// duplicates.
    ///
    /// Accepts an answer without citations. The seller decides whether it is worth anything.
    ///
    /// # Errors
    ///
    /// A text that is empty or far too long. A long text is not cut, because half an answer can say
    /// the opposite of the whole.
    pub fn check(self) -> Result<Research, ResearchError> {
        let observed = self.text.chars().count();
        if observed > markdown::MAX_CHARS {
            return Err(ResearchError::TooLong {
                expected: markdown::MAX_CHARS,
                observed,
            });
        }
        let text = sanitise(&self.text);
        if text.text.trim().is_empty() {
            return Err(ResearchError::Empty);
        }
        let mut citations: Vec<Citation> = Vec::new();
        let drafts = self.citations.into_iter();
        for citation in drafts.filter_map(|draft| draft.check(&text)) {
            if citations.len() < MAX_LISTED && !citations.contains(&citation) {
                citations.push(citation);
            }
        }
        citations.sort_by_key(|citation| citation.start.unwrap_or(usize::MAX));
        let cited = citations.iter().map(|citation| citation.url.clone());
        let found = self.pages.iter().filter_map(|page| public_url(page));
        let mut sources: Vec<String> = Vec::new();
        for page in cited.chain(found) {
            if sources.len() < MAX_LISTED && !sources.contains(&page) {
                sources.push(page);
            }
        }
        Ok(Research {
            answer_markdown: text.text,
            citations,
            sources,
            model: self.model,
            searches: self.searches,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(url: &str, span: Option<(usize, usize)>) -> CitationDraft {
        CitationDraft {
            url: url.to_owned(),
            title: None,
            span,
        }
    }

    fn findings(text: &str) -> Findings {
        Findings {
            text: text.to_owned(),
            model: "m".to_owned(),
            ..Findings::default()
        }
    }

    #[test]
    fn citations_follow_the_text_and_appear_once() {
        let research = Findings {
            citations: vec![
                draft("https://b.example/", Some((3, 5))),
                draft("https://c.example/", None),
                draft("javascript:alert(1)", Some((0, 2))),
                draft("https://a.example/", Some((0, 2))),
                draft("https://a.example", Some((0, 2))),
                draft("https://a.example/", Some((3, 99))),
            ],
            pages: vec![
                "https://d.example/".to_owned(),
                "https://a.example/".to_owned(),
                "http://localhost/".to_owned(),
            ],
            ..findings("one two")
        }
        .check()
        .unwrap();
        let cited: Vec<_> = research
            .citations
            .iter()
            .map(|citation| (citation.url.as_str(), citation.start))
            .collect();
        assert_eq!(
            cited,
            [
                ("https://a.example/", Some(0)),
                ("https://b.example/", Some(3)),
                ("https://c.example/", None),
                ("https://a.example/", None),
            ]
        );
        assert_eq!(
            research.sources,
            [
                "https://a.example/",
                "https://b.example/",
                "https://c.example/",
                "https://d.example/"
            ]
        );
    }

    #[test]
    fn empty_and_oversized_texts_are_no_answers() {
        for nothing in ["", " \n", "\u{200b}\u{202e}"] {
            assert_eq!(findings(nothing).check(), Err(ResearchError::Empty));
        }
        let long = "é".repeat(markdown::MAX_CHARS);
        assert!(findings(&long).check().is_ok());
        assert_eq!(
            findings(&format!("{long}!")).check(),
            Err(ResearchError::TooLong {
                expected: 100_000,
                observed: 100_001
            })
        );
    }

    #[test]
    fn an_answer_without_citations_has_an_empty_list() {
        let research = findings("I could not search.").check().unwrap();
        assert_eq!(research.citations, []);
        assert_eq!(research.sources, [""; 0]);
    }
}
