//! The bytes of recorded calls, from `fixtures/vectors/swap/calldata` and from the folder that
//! `RECORDED_CALLDATA` names. Each file is `NAME.hex`. It counts as a call's calldata only when it
//! has the call's digest.

use std::{fs, path::PathBuf};

use alloy_primitives::{Bytes, keccak256};
use alloy_sol_types::SolCall as _;
use calldata_checks::swap::calldata::{
    SwapCall, SwapData, decode_fees, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
    swapTokensSingleV3ERC20ToERC20Call,
};

use super::{Call, Leg, recording};

/// How many calls this repository has byte for byte.
const IN_REPOSITORY: usize = 2;

impl Call {
    /// Reads the calldata from a file, if there is one.
    pub(super) fn read_bytes(&mut self) {
        let Some(calldata) = file(&self.name) else {
            return;
        };
        assert_eq!(
            (keccak256(&calldata), calldata.len()),
            (self.calldata_keccak256, self.calldata_bytes),
            "{}.hex is not the calldata of this call",
            self.name
        );
        let call = SwapCall::decode(&self.as_decoded(&calldata)).unwrap();
        for (leg, read) in self.legs.iter_mut().zip(call.legs) {
            leg.calldata = Some(read.callData);
        }
        self.calldata = Some(calldata);
    }

    /// Returns the bytes under the selector of a decoded function that has the same arguments. The
    /// functions differ in which side is the native coin.
    fn as_decoded(&self, calldata: &[u8]) -> Vec<u8> {
        let selector = if self.is_single() {
            swapTokensSingleV3ERC20ToERC20Call::SELECTOR
        } else {
            swapTokensMultipleV3ERC20ToERC20Call::SELECTOR
        };
        assert_eq!(calldata[..4], self.function[..]);
        [&selector, &calldata[4..]].concat()
    }
}

fn file(name: &str) -> Option<Bytes> {
    let own =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors/swap/calldata");
    let given = std::env::var_os("RECORDED_CALLDATA").map(PathBuf::from);
    let text = [Some(own), given]
        .into_iter()
        .flatten()
        .find_map(|folder| fs::read_to_string(folder.join(format!("{name}.hex"))).ok())?;
    Some(text.trim().parse().unwrap())
}

fn same(leg: &Leg, read: &SwapData) -> bool {
    leg.call_to == read.callTo
        && leg.approve_to == read.approveTo
        && leg.sending == read.sendingAssetId
        && leg.receiving == read.receivingAssetId
        && leg.from_amount == read.fromAmount
        && leg.function[..] == read.callData[..4]
        && leg.call_bytes == read.callData.len()
}

/// The strict decoder accepts the real bytes, and reads the recorded members in them.
#[test]
fn the_decoder_reads_the_real_bytes() {
    let mut read = 0;
    for call in recording() {
        let Some(calldata) = &call.calldata else {
            continue;
        };
        let found = SwapCall::decode(&call.as_decoded(calldata)).unwrap();
        assert_eq!(
            (
                &found.integrator,
                &found.referrer,
                found.receiver,
                found.min_amount_out
            ),
            (
                &call.integrator,
                &call.referrer,
                call.receiver,
                call.min_amount_out
            ),
            "{}",
            call.name
        );
        assert_eq!(found.legs.len(), call.legs.len(), "{}", call.name);
        for (leg, found) in call.legs.iter().zip(&found.legs) {
            assert!(same(leg, found), "{}", call.name);
            assert!(call.is_single() || leg.requires_deposit == found.requiresDeposit);
            if leg.function == forwardERC20FeesCall::SELECTOR {
                let fees = decode_fees(&found.callData).unwrap();
                let paid = fees
                    ._distributions
                    .iter()
                    .map(|part| (part.recipient, part.amount));
                let parts = leg.distributions.as_ref().unwrap().iter();
                assert!(paid.eq(parts.map(|part| (part.recipient, part.amount))));
            }
        }
        // The call is also decoded under its own selector.
        let own = SwapCall::decode(calldata);
        let decoded = [
            swapTokensSingleV3ERC20ToERC20Call::SELECTOR,
            swapTokensMultipleV3ERC20ToERC20Call::SELECTOR,
        ];
        assert_eq!(
            own.is_ok(),
            decoded.contains(&call.function.0),
            "{}",
            call.name
        );
        read += 1;
    }
    println!("{read} calls, byte for byte");
    assert!(read >= IN_REPOSITORY, "{read}");
}

/// When the bytes of a call are not available, it is rebuilt from its members. The verdict must be
/// the same.
#[test]
fn a_rebuilt_call_gets_the_verdict_of_the_real_bytes() {
    let policy = super::policy();
    for mut call in recording() {
        if call.calldata.is_none() {
            continue;
        }
        let real = [call.recorded(), call.as_ours(&policy)].map(|verdict| super::shown(&verdict));
        call.calldata = None;
        call.legs.iter_mut().for_each(|leg| leg.calldata = None);
        let rebuilt =
            [call.recorded(), call.as_ours(&policy)].map(|verdict| super::shown(&verdict));
        assert_eq!(real, rebuilt, "{}", call.name);
    }
}
