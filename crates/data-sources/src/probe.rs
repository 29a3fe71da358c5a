//! Whether upstreams still answer in the form that the adapters read: one harmless question for
//! each endpoint, asked through the adapters themselves, and what came back held against the
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
    form::{Form, Member, form_key, forms},
    question::{Answer, Heard, Probed, Question},
    questions::{Rail, Terms},
    row::{Change, Row, State, exit_code, rows},
    shape::{Kind, Shape},
    table::{document, table},
    watch::{Board, Found, Pace, describe, probe, probe_all},
    witness::{Answered, Exchange},
};
pub(crate) use witness::{Sent, Witness};
