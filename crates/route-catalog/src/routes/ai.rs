//! The rows of the routes that ask a model.

use x402_wire::MicroUsd;

use super::AI_SECONDS;
use crate::{Method, Parameter, Route, Rule, WorkClass};

pub(crate) const GENERATE_MEME: Route = Route {
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
            "The image to draw.",
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
    datasets: &[],
    work: WorkClass::Model,
    work_seconds: AI_SECONDS,
    example: include_str!("../examples/generate_meme.json"),
};

pub(crate) const LLM_RESEARCH: Route = Route {
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
    datasets: &[],
    work: WorkClass::Model,
    work_seconds: AI_SECONDS,
    example: include_str!("../examples/llm_research.json"),
};
