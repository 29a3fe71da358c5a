#![doc = include_str!("../README.md")]

mod exchange;
mod library;
mod proxy;

pub use self::{
    library::{Library, LibraryError},
    proxy::{Proxy, Scheme},
};
