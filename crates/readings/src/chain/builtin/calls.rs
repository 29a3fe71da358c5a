//! A transaction as a tree of the calls in its calldata. Calls that contracts make on their own are
//! not in it.

use alloy_primitives::{Address, Selector, U256};

use super::{Role, carried::carried};
use crate::chain::{
    knowledge::Knowledge,
    record::Transaction,
    signature::{self, Reading},
};

/// The deepest nesting of calls.
const MAX_DEPTH: usize = 4;
/// The most calls of one transaction that are read.
const MAX_CALLS: usize = 64;

/// A call, decoded as far as possible.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedCall {
    /// The contract; `None` for a contract creation.
    pub to: Option<Address>,
    /// The amount of native coin, when the call states one.
    pub value: Option<U256>,
    /// Its calldata.
    pub data: Vec<u8>,
    /// Its signature and arguments, when they are known.
    pub reading: Option<Reading>,
    /// The calls that it carries.
    pub inner: Vec<Self>,
    /// How many calls were left out because there are too many, or because they are too deep.
    pub left_out: usize,
}

/// Returns the calls of a transaction. `None` when it has no calldata or creates a contract.
#[must_use]
pub fn root(transaction: &Transaction, known: &Knowledge) -> Option<DecodedCall> {
    let to = transaction.to?;
    if transaction.input.is_empty() {
        return None;
    }
    let mut left = MAX_CALLS;
    Some(read(
        to,
        Some(transaction.value),
        &transaction.input,
        known,
        0,
        &mut left,
    ))
}

impl DecodedCall {
    /// The first four bytes.
    #[must_use]
    pub fn selector(&self) -> Option<Selector> {
        self.data.get(..4).map(Selector::from_slice)
    }

    /// The effect of the function, if it is known.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        Some(self.reading.as_ref()?.row?.role)
    }

    /// Visits this call and all calls inside it, from the outside in.
    pub fn visit<'c>(&'c self, see: &mut impl FnMut(&'c Self)) {
        see(self);
        for call in &self.inner {
            call.visit(see);
        }
    }
}

fn read(
    to: Address,
    value: Option<U256>,
    data: &[u8],
    known: &Knowledge,
    depth: usize,
    left: &mut usize,
) -> DecodedCall {
    *left = left.saturating_sub(1);
    let candidates = data
        .get(..4)
        .and_then(|selector| known.candidates.get(&Selector::from_slice(selector)));
    let candidates = candidates.map(Vec::as_slice).unwrap_or_default();
    let reading = signature::read(data, known.contracts.get(&to), candidates);
    let mut call = DecodedCall {
        to: Some(to),
        value,
        data: data.to_vec(),
        inner: Vec::new(),
        left_out: 0,
        reading,
    };
    let Some((row, decoded)) = call
        .reading
        .as_ref()
        .and_then(|reading| Some((reading.row?, &reading.decoded)))
    else {
        return call;
    };
    let carried = carried(row.role, to, &decoded.values);
    let mut inner = Vec::new();
    let mut left_out = 0_usize;
    for next in carried {
        if depth.saturating_add(1) >= MAX_DEPTH || *left == 0 {
            left_out = left_out.saturating_add(1);
            continue;
        }
        inner.push(read(
            next.to,
            next.value,
            &next.data,
            known,
            depth.saturating_add(1),
            left,
        ));
    }
    call.inner = inner;
    call.left_out = left_out;
    call
}
