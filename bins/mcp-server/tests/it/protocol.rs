//! The protocol on the wire: every kind of request against a server with tools of the tests' own,
//! over raw HTTP.

mod calls;
mod edge;
mod legacy;
mod malformed;
mod modern;
mod operations;
mod schema;
mod toolbox;
mod wire;

/// The imports of every test.
mod prelude {
    pub(crate) use serde_json::{Value, json};

    pub(crate) use crate::protocol::wire::TestServer;
}
