use super::*;

const CONTRACT: AccountCode = AccountCode::Contract {
    hash: B256::repeat_byte(7),
};

fn code(hash: B256) -> AccountCode {
    AccountCode::Contract { hash }
}

fn safe(owners: &[u8], threshold: u64) -> SafeReading {
    SafeReading {
        code: CONTRACT,
        fallback_handler: REVIEWED_HANDLERS[2],
        guard: Address::ZERO,
        module_guard: Address::ZERO,
        modules: Vec::new(),
        owners: owners.iter().map(|&b| Address::repeat_byte(b)).collect(),
        singleton: address!("29fcB43b46531BcA003ddC8FCB67FFE91900C762"),
        singleton_code: code(REVIEWED_SINGLETONS[3]),
        threshold: U256::from(threshold),
        version: "1.4.1".to_owned(),
    }
}

fn refusal(source: SafeReading, destination: SafeReading) -> String {
    let readings = SafeReadings {
        source,
        destination,
    };
    readings.judge().unwrap_err().message.into_owned()
}

#[test]
fn the_same_safe_in_any_order_of_owners() {
    let readings = SafeReadings {
        source: safe(&[1, 2, 3], 2),
        destination: safe(&[3, 1, 2], 2),
    };
    let observed = readings.judge().unwrap();
    assert_eq!(
        observed.as_str(),
        "safe 1.4.1 (reviewed) with threshold 2 of 3 owners on both chains, 0 modules"
    );
}

#[test]
fn the_singletons_of_a_safe_have_one_code_or_all_reviewed_ones() {
    let judge = |source: B256, destination: B256| {
        let running = |hash, at| SafeReading {
            singleton: Address::repeat_byte(at),
            singleton_code: code(hash),
            ..safe(&[1, 2, 3], 2)
        };
        // The singleton's address does not matter.
        SafeReadings {
            source: running(source, 1),
            destination: running(destination, 2),
        }
        .judge()
    };
    // The list has Ethereum's and the second layers' singletons.
    for there in REVIEWED_SINGLETONS {
        let observed = judge(REVIEWED_SINGLETONS[0], there).unwrap();
        assert!(observed.as_str().contains("(reviewed)"));
    }
    let (own, other) = (B256::repeat_byte(0xaa), B256::repeat_byte(0xbb));
    let observed = judge(own, own).unwrap();
    assert!(observed.as_str().contains("(not reviewed)"));
    for (here, there) in [
        (own, other),
        (own, REVIEWED_SINGLETONS[0]),
        (REVIEWED_SINGLETONS[0], own),
    ] {
        let violation = judge(here, there).unwrap_err();
        assert!(violation.message.contains("runs other code"));
        assert_eq!(violation.observed, code(there).identity());
    }
    let gone = SafeReading {
        singleton_code: AccountCode::Empty,
        ..safe(&[1], 1)
    };
    assert!(refusal(safe(&[1], 1), gone.clone()).contains("runs no contract on the dest"));
    assert!(refusal(gone, safe(&[1], 1)).contains("runs no contract on the source"));
}

#[test]
fn modules_guards_and_handler_are_the_same_or_none() {
    let with = |edit: fn(&mut SafeReading, Address)| {
        move |byte: u8| {
            let mut reading = safe(&[1, 2, 3], 2);
            edit(&mut reading, Address::repeat_byte(byte));
            reading
        }
    };
    type Extension = (&'static str, fn(&mut SafeReading, Address));
    let extensions: [Extension; 4] = [
        ("other modules", |r, to| {
            r.modules = if to.is_zero() { vec![] } else { vec![to] };
        }),
        ("another guard", |r, to| r.guard = to),
        ("another module guard", |r, to| r.module_guard = to),
        ("another fallback handler", |r, to| r.fallback_handler = to),
    ];
    for (what, edit) in extensions {
        let with = with(edit);
        for (here, there, holds) in [
            (0, 0, true),
            (7, 7, true),
            (7, 0, true),
            (0, 7, false),
            (7, 8, false),
        ] {
            let readings = SafeReadings {
                source: with(here),
                destination: with(there),
            };
            match readings.judge() {
                Ok(_) => assert!(holds, "{what} {here} {there}"),
                Err(violation) => {
                    assert!(!holds, "{what} {here} {there}");
                    assert!(violation.message.contains(what), "{}", violation.message);
                }
            }
        }
    }
    let handled = |handler| SafeReading {
        fallback_handler: handler,
        ..safe(&[1], 1)
    };
    for handler in REVIEWED_HANDLERS {
        let readings = SafeReadings {
            source: handled(Address::ZERO),
            destination: handled(handler),
        };
        assert!(readings.judge().is_ok());
    }
    let modules = |bytes: &[u8]| SafeReading {
        modules: bytes.iter().map(|&b| Address::repeat_byte(b)).collect(),
        ..safe(&[1], 1)
    };
    let judge = |source, destination| {
        SafeReadings {
            source,
            destination,
        }
        .judge()
    };
    assert!(judge(modules(&[1, 2]), modules(&[2, 1])).is_ok());
    assert!(judge(modules(&[1, 2]), modules(&[1])).is_err());
    let many: Vec<u8> = (1..=33).collect();
    let refused = judge(modules(&many), modules(&many)).unwrap_err();
    assert!(refused.message.contains("too many modules on the source"));
}

#[test]
fn a_contract_that_only_answers_like_the_safe_is_refused() {
    let liar = SafeReading {
        code: AccountCode::Contract {
            hash: B256::repeat_byte(8),
        },
        ..safe(&[1, 2, 3], 2)
    };
    let readings = SafeReadings {
        source: safe(&[1, 2, 3], 2),
        destination: liar,
    };
    let violation = readings.judge().unwrap_err();
    assert!(
        violation
            .message
            .contains("has another contract on the destination chain")
    );
    let contract = |byte| format!("contract {}", B256::repeat_byte(byte));
    assert_eq!(
        (violation.expected, violation.observed),
        (contract(7), contract(8))
    );
}

#[test]
fn a_safe_of_more_owners_than_are_read_is_refused() {
    let many = |count: u8| safe(&(1..=count).collect::<Vec<_>>(), 1);
    assert!(refusal(many(65), many(65)).contains("too many owners on the source chain"));
    assert!(refusal(many(64), many(65)).contains("too many owners on the destination chain"));
    let readings = SafeReadings {
        source: many(64),
        destination: many(64),
    };
    assert!(readings.judge().is_ok());
}

#[test]
fn a_safe_that_is_not_the_same_is_refused() {
    let source = || safe(&[1, 2, 3], 2);
    for owners in [&[1, 2, 4][..], &[1, 2], &[1, 2, 3, 4], &[9]] {
        let threshold = u64::min(2, u64::try_from(owners.len()).unwrap());
        assert!(refusal(source(), safe(owners, threshold)).contains("other owners"));
    }
    assert!(refusal(source(), safe(&[1, 2, 3], 1)).contains("another threshold"));
    let version = SafeReading {
        version: "1.3.0".to_owned(),
        ..source()
    };
    assert!(refusal(source(), version).contains("another version"));
}

#[test]
fn a_safe_that_anybody_may_set_up_is_refused() {
    // A bare proxy is equal on both chains and belongs to nobody.
    for (owners, threshold) in [(&[][..], 0), (&[][..], 1), (&[1][..], 0), (&[1, 1][..], 2)] {
        let bare = safe(owners, threshold);
        assert!(refusal(bare.clone(), bare).contains("not set up on the source chain"));
        let refused = refusal(safe(&[1], 1), safe(owners, threshold));
        assert!(refused.contains("not set up on the destination chain"));
    }
}

#[test]
fn a_safe_without_code_is_refused() {
    for code in [AccountCode::Empty, AccountCode::Delegated] {
        let gone = SafeReading {
            code,
            ..safe(&[1], 1)
        };
        assert!(refusal(safe(&[1], 1), gone.clone()).contains("on the destination chain"));
        assert!(refusal(gone, safe(&[1], 1)).contains("on the source chain"));
    }
}
