//! The Model Context Protocol over any set of tools: which revision a request speaks, and what its
//! method answers.
//!
//! Three kinds of request are served side by side, each judged by itself, without sessions: the
//! current revision with everything in every request; the revisions before it, with their
//! `initialize`; and bare calls that name no revision.

mod dispatcher;
mod era;
mod rendered;
mod toolbox;

pub(crate) use dispatcher::Dispatcher;
pub(crate) use era::{Declared, Field};
pub(crate) use rendered::About;
pub use toolbox::{Annotations, RawArguments, ToolCall, ToolDescription, ToolResult, Toolbox};
