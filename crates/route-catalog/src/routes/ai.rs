//! Routes that ask a model.

use x402_wire::MicroUsd;

use super::AI_SECONDS;
use crate::{Method, Operation, Parameter, Route, Rule};

pub(crate) const GENERATE_MEME: Route = Route {
    operation: Operation::GenerateMeme,
    method: Method::Get,
    path: "/generate-meme",
    resource: "/generate-meme",
    price: MicroUsd::dollars("0.15"),
    summary: "AI image",
    description: "An image generated from a prompt by the default model or by the alternative one, \
                  with its digest.",
    refuses: "the prompt is blocked, or the model fails",
    query: &[
        Parameter::required(
            "prompt",
            Rule::Prompt { max: 1000 },
            "a calm bull",
            "What to draw.",
        ),
        Parameter::defaulted(
            "model",
            Rule::Choice(&["default", "alternative"]),
            "default",
            "Which of the two configured models.",
        ),
    ],
    body: &[],
    constraints: &[],
    core: &["image"],
    work_seconds: AI_SECONDS,
    example: r#"{"image":{"mime":"image/png","width":1024,"height":1024,"url":"/artifacts/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","expires_at":"2026-11-22T01:00:00Z"},"model":"gpt-image-2","prompt_sha256":"5d41402abc4b2a76b9719d911017c592aa3f1e7c0d0b6f2b5a3e8a5b1c2d3e4f","revised_prompt":null}"#,
};

pub(crate) const LLM_RESEARCH: Route = Route {
    operation: Operation::LlmResearch,
    method: Method::Get,
    path: "/llm-research",
    resource: "/llm-research",
    price: MicroUsd::dollars("0.10"),
    summary: "AI research with web search",
    description: "A research question answered by a model that searches the web, with citations.",
    refuses: "the answer would carry no citation, or the model fails",
    query: &[Parameter::required(
        "prompt",
        Rule::Prompt { max: 4000 },
        "What changed in stablecoin regulation this month?",
        "The research question.",
    )],
    body: &[],
    constraints: &[],
    core: &["citations"],
    work_seconds: AI_SECONDS,
    example: r#"{"answer_markdown":"Two rules took effect [1].","citations":[{"url":"https://www.theblock.co/post/rules","title":"New stablecoin rules","start":0,"end":26}],"sources":["https://www.theblock.co/post/rules"],"model":"gpt-5","searches":3}"#,
};
