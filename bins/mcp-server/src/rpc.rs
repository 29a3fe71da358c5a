//! JSON-RPC 2.0 as MCP uses it: one request or notification in, at most one message out; and the
//! batches of revision 2025-03-26.
//!
//! A message is read once, and borrows from its own text. Members that the server does not need
//! stay text.

mod depth;
mod fault;
mod id;
mod members;
mod message;
mod quoted;
#[cfg(test)]
mod tests;

pub(crate) use depth::{MAX_DEPTH, is_shallow};
pub(crate) use fault::{Answer, Fault};
pub(crate) use id::Id;
pub(crate) use members::{Member, Members, MembersError};
pub(crate) use message::{Message, batch, string, without_mark};
pub(crate) use quoted::push_quoted;
