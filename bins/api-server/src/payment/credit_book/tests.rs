use super::*;

/// Calls at the same time cannot spend what is not there, whatever they ask for.
#[test]
fn refused_calls_spend_at_most_the_pool_whatever_their_operation() {
    const POOL: u64 = 1_000_000;
    let cost = Cost::micro_usd;
    let refill = |capacity| Refill {
        capacity: cost(capacity),
        per_second: cost(1),
    };
    let policy = CreditPolicy {
        upstream_call: cost(100),
        model_call: cost(25_000),
        verification: cost(100),
        transaction: cost(5_000),
        kept: cost(5_000),
        newcomers: Rules {
            pool: refill(POOL),
            address: refill(1),
        },
        cap: cost(5_000_000),
    };
    for operation in Operation::ALL {
        let book = Arc::new(Mutex::new(CreditBook::new(policy, 0)));
        let take = || Hold::take(&book, None, None, operation, 0);
        let holds: Vec<_> = std::iter::from_fn(|| take().ok()).collect();
        assert!(!holds.is_empty(), "{operation}");
        let MostCalls { upstream, model } = operation.most_calls();
        let usage = Usage {
            upstream_calls: upstream,
            model_calls: model,
            kept: u32::from(operation.keeps()),
        };
        let spent = policy.spent(usage);
        let spent: u64 = holds.into_iter().map(|hold| hold.spend(spent).pool).sum();
        assert!(spent <= POOL, "{operation}: {spent}");
    }
}

#[test]
fn the_spent_part_of_a_withdrawn_earning_is_owed() {
    let cost = Cost::micro_usd;
    let mut account = Account::default();
    let added = account.add(cost(2_000), cost(5_000));
    assert_eq!(added, cost(2_000));
    // Its record cannot be written, and meanwhile a call has spent some of it.
    account.take(added);
    account.take(cost(100));
    assert_eq!((account.credit, account.owed), (Cost::ZERO, cost(100)));
    assert_eq!(account.add(cost(2_000), cost(5_000)), cost(2_000));
    assert_eq!((account.credit, account.owed), (cost(1_900), Cost::ZERO));
    // The cap counts for what is kept, not for what is owed.
    account.take(cost(2_000));
    assert_eq!(account.add(cost(900), cost(500)), cost(600));
    assert_eq!((account.credit, account.owed), (cost(500), Cost::ZERO));
}
