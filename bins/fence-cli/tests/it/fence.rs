//! The commands that permit, review and end, run as people and scripts run them: the real binary in
//! folders of its own.

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
