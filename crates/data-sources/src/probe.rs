//! Checks whether upstreams still answer in the form that the adapters read. It asks one harmless
//! question for each endpoint through the adapters themselves, and compares the answer with the
//! recorded form.

mod form;
mod question;
mod questions;
mod row;
mod shape;
mod table;
mod watch;
mod witness;

pub use self::{
    form::{Change, Form, Member, form_key, forms},
    question::{ProbeReading, ProbeResult, Probed, Question},
    questions::{Rail, Terms},
    row::{Row, State, exit_code, rows},
    shape::{Kind, Shape},
    table::{document, table},
    watch::{Board, Found, Pace, describe, probe, probe_all},
    witness::{Answered, Exchange},
};
pub(crate) use witness::{Sent, Witness};
