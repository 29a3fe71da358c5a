#![doc = include_str!("../README.md")]

mod check;
mod cli;
pub mod config;
#[cfg(feature = "demo")]
mod demo;
mod http;
mod limits_file;
mod mcp;
mod monotonic;
mod observe;
mod policy;
mod rpc;
mod serve;
mod shares;
mod stdio;
mod throttle;
mod tools;
mod upstreams;

pub use cli::run;
pub use config::{Config, ConfigError};
pub use http::{Health, Limits, NoUpstreams, Observed};
pub use mcp::{Annotations, RawArguments, ToolCall, ToolDescription, ToolResult, Toolbox};
pub use policy::PolicyError;
pub use serve::{McpServer, Parts, ServeError};
pub use shares::ShareRules;
pub use throttle::CallLimits;
pub use tools::{Entropy, Ports, Tools};
pub use upstreams::{UpstreamError, Upstreams};
