#![doc = include_str!("../README.md")]

mod error;
mod fees;
mod lane;
mod node;
mod observe;
mod policy;
mod record;
mod request;
mod sender;
mod signer;
mod store;

pub use error::{Hold, SenderError, SignError, StoreError};
pub use fees::{AboveCap, BUMP_PERMILLE, Fees, Market, first, outbid};
pub use lane::Lane;
pub use node::{
    AddedFees, Head, HttpTransport, InvalidUrl, Mined, Node, NodeFault, NodeFuture, Receipt,
    Refusal, RpcAnswer, RpcError, RpcNode, Transport, ask, rpc_request,
};
pub use observe::describe;
pub use policy::{Chain, Clock, Options, Policy};
pub use record::{Attempt, Closing, IllegalMove, Inclusion, Kind, Record, State};
pub use request::Request;
pub use sender::{LaneStatus, Sender, Watch};
pub use signer::KeyFileError;
pub use signer::Web3Signer;
pub use signer::{
    Checked, HashSigner, InvalidKey, LocalKey, SignFuture, TransactionSigner, Unsigned, check,
    signed,
};
pub use store::{
    Fence, MemoryStore, PostgresStore, SqliteStore, Store, StoreFuture, Takeover, TurnEnd,
    TurnFence, TurnStore,
};
