#![doc = include_str!("../README.md")]

mod error;
mod finding;
pub mod lenient;
mod load;
mod log;
mod secrets;
mod sections;
mod source;

pub use error::{ConfigError, Problem};
pub use finding::{Finding, Verdict, exit_code};
pub use load::{Configuration, environment, load, parse};
pub use log::start_log;
pub use secrets::read_secret_file;
pub use sections::{
    ChainTable, Chains, LogFormat, LogSection, OutboundSection, PRICE_SOURCE_MOVED, ServerSection,
    UpstreamMode, UpstreamTable, Upstreams, WorthChainTable, WorthSection, check_rpc_url,
    check_url,
};
