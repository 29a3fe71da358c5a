//! The Model Context Protocol over any set of tools: determines the revision of a request and
//! answers its method.
//!
//! There are no sessions: each request is judged by itself. It is one of three kinds: a request of
//! the current revision, which carries everything in every request; a request of an earlier
//! revision, which begins with `initialize`; or a bare call that names no revision. This module
//! knows no transport and no tool.

mod dispatcher;
mod era;
mod rendered;
mod toolbox;

pub(crate) use dispatcher::Dispatcher;
pub(crate) use era::{Declared, Field};
pub(crate) use rendered::About;
pub use toolbox::{Annotations, RawArguments, ToolCall, ToolDescription, ToolResult, Toolbox};
