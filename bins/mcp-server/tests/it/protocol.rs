//! Tests of the protocol on the wire. They send every kind of request, over raw HTTP, to a server
//! that has tools made for the tests.

mod calls;
mod edge;
mod legacy;
mod malformed;
mod modern;
mod operations;
mod schema;
mod toolbox;
pub(crate) mod wire;

/// The imports of every test.
mod prelude {
    pub(crate) use serde_json::{Value, json};

    pub(crate) use crate::protocol::wire::TestServer;
}
