#![doc = include_str!("../README.md")]

mod domain;
mod json;
mod message;
mod name;
mod policy;
mod refusal;
mod rule;
mod signature;
mod signed;

pub use self::{
    domain::Domain,
    message::{AccountKind, Grant, Limit, Message, Order, Revocation, TypedData, primary_type},
    name::Name,
    policy::{Advice, Change, Policy, Shape, differences},
    refusal::Refusal,
    rule::{Class, Rule},
    signature::Signature,
    signed::Signed,
};
