//! Tests of the commands that permit, review and end. They run the real binary as people and
//! scripts do, each in its own folder.

mod chain;
mod desk;
mod documents;
mod grants;
mod keys;
mod logs;
mod namespace;
mod network;
mod node;
mod orders;
mod policies;
mod revocations;
mod service;
mod shell;
mod submissions;
mod terminal;
mod tutorial;
