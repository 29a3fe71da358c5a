#![doc = include_str!("../README.md")]

mod exchange;
mod library;
mod probe;
mod proxy;

pub use self::{
    library::{Library, LibraryError},
    probe::{Printed, ProbeArguments, UpstreamsCommand},
    proxy::{Proxy, ProxyError, Scheme},
};
