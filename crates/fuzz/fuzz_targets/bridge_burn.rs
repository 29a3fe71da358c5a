//! Decodes a burn. A decoded burn encodes to the same bytes, every burn survives its own encoding,
//! and its three steps are read.
#![no_main]

use alloy_primitives::{Address, B256, U256};
use calldata_checks::{Steps, bridge::calldata::Burn};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(burn) = Burn::decode(data) {
        assert_eq!(&burn.encode()[..], data);
        survives(&burn);
    }
    if let Some(burn) = read(data) {
        survives(&burn);
    }
});

fn survives(burn: &Burn) {
    assert_eq!(Burn::decode(&burn.encode()).as_ref(), Ok(burn));
    let steps = Steps::decode(&burn.steps()).unwrap();
    assert!(steps.judge_reset_order().is_ok());
    assert_eq!(
        (steps.approve.token, steps.approve.amount),
        (burn.burn_token, burn.amount)
    );
    assert_eq!(Burn::decode(&steps.call.data).as_ref(), Ok(burn));
}

/// A burn from the input bytes; the rest of them is the hook.
fn read(data: &[u8]) -> Option<Burn> {
    let (&[hooked], data) = data.split_first_chunk()?;
    let (amount, data) = data.split_first_chunk::<32>()?;
    let (recipient, data) = data.split_first_chunk::<32>()?;
    let (token, data) = data.split_first_chunk::<20>()?;
    let (caller, data) = data.split_first_chunk::<32>()?;
    let (fee, data) = data.split_first_chunk::<32>()?;
    let (domain, data) = data.split_first_chunk::<4>()?;
    let (finality, data) = data.split_first_chunk::<4>()?;
    Some(Burn {
        amount: U256::from_be_bytes(*amount),
        destination_domain: u32::from_be_bytes(*domain),
        mint_recipient: B256::from(*recipient),
        burn_token: Address::from(*token),
        destination_caller: B256::from(*caller),
        max_fee: U256::from_be_bytes(*fee),
        min_finality_threshold: u32::from_be_bytes(*finality),
        hook: (hooked & 1 == 1).then(|| data.to_vec().into()),
    })
}
