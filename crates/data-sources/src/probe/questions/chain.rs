//! Sources of contract interfaces.

use alloy_primitives::Selector;

use super::{USDT0, probed, questions};
use crate::{CHAIN_ID, fourbyte::Fourbyte, sourcify::Sourcify};

/// `transfer(address,uint256)`, and an unknown selector.
const TRANSFER: Selector = alloy_primitives::FixedBytes([0xa9, 0x05, 0x9c, 0xbb]);
const NOBODYS: Selector = alloy_primitives::FixedBytes([0x12, 0x34, 0x56, 0x78]);

probed!(Sourcify, |this| questions! { "sourcify";
    ["sourcify.abi"] => this.contract(CHAIN_ID, USDT0),
    ["sourcify.signatures"] => this.signatures(&[TRANSFER, NOBODYS]),
});

probed!(Fourbyte, |this| questions! { "fourbyte";
    ["fourbyte.signatures"] => this.signatures(TRANSFER),
});
