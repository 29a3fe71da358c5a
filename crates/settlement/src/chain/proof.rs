//! Decides from the logs of one transaction whether it made a payment.

use alloy_primitives::{Address, B256, U256};
use alloy_rpc_types_eth::Log;
use alloy_sol_types::SolEvent;
use x402_wire::{Authorization, AuthorizationKey, Payment};

use super::abi::Eip3009::{AuthorizationCanceled, AuthorizationUsed, Transfer};

/// The proof that the logs of one transaction give about a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The authorization was used, and its use moved the exact amount from the payer to the seller.
    Paid,
    /// The authorization was used or cancelled, and the seller was not paid.
    Spent,
    /// The logs say nothing about this authorization.
    Nothing,
}

/// The transfer that an authorization allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Purpose {
    asset: Address,
    payer: Address,
    nonce: B256,
    payee: Address,
    amount: U256,
}

impl Purpose {
    /// Returns the transfer of a payment.
    pub(crate) fn of(payment: &Payment) -> Self {
        let requirements = payment.requirements();
        Self {
            asset: requirements.asset,
            payer: payment.authorization().from,
            nonce: payment.authorization().nonce,
            payee: requirements.pay_to,
            amount: requirements.amount,
        }
    }

    /// Returns the transfer that an authorization states.
    pub(crate) fn named(key: &AuthorizationKey, authorization: &Authorization) -> Self {
        Self {
            asset: key.asset,
            payer: key.payer,
            nonce: key.nonce,
            payee: authorization.to,
            amount: authorization.value,
        }
    }
}

/// Reads the logs of one transaction, in their order.
///
/// That the transaction succeeded proves nothing: some tokens write an event for a used
/// authorization and return. A transaction may also use several authorizations, so the transfer
/// must belong to this one. EIP-3009 tokens log a use and its transfer next to each other.
pub(crate) fn of_logs(purpose: &Purpose, logs: &[Log]) -> Proof {
    let events: Vec<Event> = logs
        .iter()
        .filter(|log| log.address() == purpose.asset)
        .filter_map(|log| Event::read(purpose, log))
        .collect();
    let Some(at) = events
        .iter()
        .position(|event| *event == Event::Used { ours: true })
    else {
        let cancelled = events.contains(&Event::Cancelled);
        return if cancelled {
            Proof::Spent
        } else {
            Proof::Nothing
        };
    };
    let uses = events
        .iter()
        .filter(|event| matches!(event, Event::Used { .. }))
        .count();
    let paid = if uses == 1 {
        events.contains(&Event::Transfer { ours: true })
    } else {
        events.get(at.saturating_add(1)) == Some(&Event::Transfer { ours: true })
    };
    if paid { Proof::Paid } else { Proof::Spent }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// An authorization was used. `ours` says whether it was this payment's.
    Used { ours: bool },
    /// This payment's authorization was cancelled.
    Cancelled,
    /// Tokens moved. `ours` says whether it was exactly this payment's transfer.
    Transfer { ours: bool },
}

impl Event {
    fn read(purpose: &Purpose, log: &Log) -> Option<Self> {
        let is_ours =
            |payer: Address, nonce: B256| payer == purpose.payer && nonce == purpose.nonce;
        let data = &log.inner;
        match *log.topics().first()? {
            AuthorizationUsed::SIGNATURE_HASH => {
                let used = AuthorizationUsed::decode_log_validate(data).ok()?;
                Some(Self::Used {
                    ours: is_ours(used.authorizer, used.nonce),
                })
            }
            AuthorizationCanceled::SIGNATURE_HASH => {
                let cancelled = AuthorizationCanceled::decode_log_validate(data).ok()?;
                is_ours(cancelled.authorizer, cancelled.nonce).then_some(Self::Cancelled)
            }
            Transfer::SIGNATURE_HASH => {
                let moved = Transfer::decode_log_validate(data).ok()?;
                let ours = moved.from == purpose.payer
                    && moved.to == purpose.payee
                    && moved.value == purpose.amount;
                Some(Self::Transfer { ours })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{LogData, address};
    use x402_wire::{Asset, MicroUsd, Network, PaymentPayload, Terms};

    use super::*;

    const PAYER: Address = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    const PAY_TO: Address = address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906");
    const NONCE: B256 = B256::repeat_byte(7);

    fn payment() -> Payment {
        let asset = Asset::chain_196()[0].clone();
        let terms = Terms {
            network: Network::evm(196),
            pay_to: PAY_TO,
            max_timeout_seconds: 300,
            assets: vec![asset],
        };
        let offer = terms.offer(MicroUsd::dollars("0.002"));
        let requirements = offer.options().next().unwrap().to_json();
        let payload = format!(
            r#"{{"x402Version":2,"accepted":{requirements},"payload":{{"signature":"0x00","authorization":{{
            "from":"{PAYER}","to":"{PAY_TO}","value":"2000","validAfter":"0","validBefore":"1795219500",
            "nonce":"{NONCE}"}}}}}}"#
        );
        let payload = PaymentPayload::from_json(payload.as_bytes()).unwrap();
        Payment::matching(&offer, payload).unwrap()
    }

    fn log(asset: Address, event: &impl SolEvent) -> Log {
        let data: LogData = event.encode_log_data();
        Log {
            inner: alloy_primitives::Log {
                address: asset,
                data,
            },
            ..Log::default()
        }
    }

    fn used(nonce: B256) -> AuthorizationUsed {
        AuthorizationUsed {
            authorizer: PAYER,
            nonce,
        }
    }

    fn transfer(to: Address, value: u64) -> Transfer {
        Transfer {
            from: PAYER,
            to,
            value: U256::from(value),
        }
    }

    fn judge(asset: Address, build: impl Fn(&mut Vec<Log>, Address)) -> Proof {
        let mut logs = Vec::new();
        build(&mut logs, asset);
        of_logs(&Purpose::of(&payment()), &logs)
    }

    #[test]
    fn a_use_with_its_transfer_is_paid() {
        let asset = payment().requirements().asset;
        let paid = judge(asset, |logs, asset| {
            logs.push(log(asset, &used(NONCE)));
            logs.push(log(asset, &transfer(PAY_TO, 2000)));
        });
        assert_eq!(paid, Proof::Paid);
        let transfer_first = judge(asset, |logs, asset| {
            logs.push(log(asset, &transfer(PAY_TO, 2000)));
            logs.push(log(asset, &used(NONCE)));
        });
        assert_eq!(transfer_first, Proof::Paid);
    }

    #[test]
    fn another_transfer_does_not_pay() {
        let asset = payment().requirements().asset;
        for (to, value) in [(PAY_TO, 1999), (PAY_TO, 2001), (PAYER, 2000)] {
            let spent = judge(asset, |logs, asset| {
                logs.push(log(asset, &used(NONCE)));
                logs.push(log(asset, &transfer(to, value)));
            });
            assert_eq!(spent, Proof::Spent);
        }
    }

    #[test]
    fn one_log_without_the_other_does_not_pay() {
        let asset = payment().requirements().asset;
        let nothing = judge(asset, |logs, asset| {
            logs.push(log(asset, &transfer(PAY_TO, 2000)))
        });
        assert_eq!(nothing, Proof::Nothing);
        let spent = judge(asset, |logs, asset| logs.push(log(asset, &used(NONCE))));
        assert_eq!(spent, Proof::Spent);
        let cancelled = judge(asset, |logs, asset| {
            logs.push(log(
                asset,
                &AuthorizationCanceled {
                    authorizer: PAYER,
                    nonce: NONCE,
                },
            ));
        });
        assert_eq!(cancelled, Proof::Spent);
    }

    #[test]
    fn logs_of_another_contract_count_for_nothing() {
        let forged = judge(Address::repeat_byte(9), |logs, asset| {
            logs.push(log(asset, &used(NONCE)));
            logs.push(log(asset, &transfer(PAY_TO, 2000)));
        });
        assert_eq!(forged, Proof::Nothing);
    }

    /// The payer signs one nonce twice: for this payment, and for a transfer to itself. One
    /// transaction uses the second signature, and pays another call under another nonce. The
    /// transfer of the other call must not count for this payment too.
    #[test]
    fn the_transfer_of_another_authorization_is_not_borrowed() {
        let asset = payment().requirements().asset;
        let batch = judge(asset, |logs, asset| {
            logs.push(log(asset, &used(NONCE)));
            logs.push(log(asset, &transfer(PAYER, 2000)));
            logs.push(log(asset, &used(B256::repeat_byte(8))));
            logs.push(log(asset, &transfer(PAY_TO, 2000)));
        });
        assert_eq!(batch, Proof::Spent);
        let honest = judge(asset, |logs, asset| {
            logs.push(log(asset, &used(B256::repeat_byte(8))));
            logs.push(log(asset, &transfer(PAYER, 2000)));
            logs.push(log(asset, &used(NONCE)));
            logs.push(log(asset, &transfer(PAY_TO, 2000)));
        });
        assert_eq!(honest, Proof::Paid);
    }
}
