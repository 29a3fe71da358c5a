use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

const RULES: Rules = Rules {
    pool: Refill {
        capacity: Cost::micro_usd(1_000),
        per_second: Cost::micro_usd(10),
    },
    address: Refill {
        capacity: Cost::micro_usd(200),
        per_second: Cost::micro_usd(1),
    },
};

fn address(last: u8) -> Option<IpAddr> {
    Some(Ipv4Addr::new(192, 0, 2, last).into())
}

fn dry(now_ms: u64) -> Newcomers {
    let mut newcomers = Newcomers::new(RULES, now_ms);
    let all = newcomers.take(None, RULES.pool.capacity, now_ms);
    assert_eq!(all.map(|taken| taken.cost()), Ok(RULES.pool.capacity));
    newcomers
}

#[test]
fn the_pool_comes_before_the_share() {
    let mut newcomers = Newcomers::new(RULES, 0);
    for _ in 0..10 {
        newcomers
            .take(address(1), Cost::micro_usd(100), 0)
            .map(drop)
            .unwrap();
    }
    assert_eq!(newcomers.left_in_pool(0), Cost::ZERO);
    // The share is untouched.
    newcomers
        .take(address(1), RULES.address.capacity, 0)
        .map(drop)
        .unwrap();
}

#[test]
fn an_amount_refills_from_the_time_of_its_reading() {
    let mut before = dry(0);
    let of = |last| address(last).unwrap();
    before
        .take(address(1), Cost::micro_usd(150), 0)
        .map(drop)
        .unwrap();
    assert_eq!(before.left_in_pool(0), Cost::ZERO);
    assert_eq!(before.left_in_share(of(1), 0), Cost::micro_usd(50));
    assert_eq!(before.left_in_share(of(2), 0), RULES.address.capacity);

    let mut after = Newcomers::new(RULES, 7);
    after.restore_pool(before.left_in_pool(0), 20_000, 7);
    after.restore_share(of(1), before.left_in_share(of(1), 0), 20_000, 7);
    assert_eq!(after.left_in_pool(7), Cost::micro_usd(200));
    assert_eq!(after.left_in_share(of(1), 7), Cost::micro_usd(70));
    assert_eq!(after.left_in_share(of(1), 1_007), Cost::micro_usd(71));
    // The restored amount never exceeds the capacity, even when the capacity is smaller now.
    after.restore_pool(Cost::micro_usd(u64::MAX), u64::MAX, 7);
    after.restore_share(of(1), Cost::ZERO, u64::MAX, 7);
    assert_eq!(after.left_in_pool(7), RULES.pool.capacity);
    assert_eq!(after.left_in_share(of(1), 7), RULES.address.capacity);
}

#[test]
fn a_dry_pool_leaves_each_address_its_share() {
    let mut newcomers = dry(0);
    while newcomers.take(address(1), Cost::micro_usd(50), 0).is_ok() {}
    newcomers
        .take(address(2), Cost::micro_usd(50), 0)
        .map(drop)
        .unwrap();
    let refused = newcomers.take(None, Cost::micro_usd(50), 0).unwrap_err();
    assert_eq!(refused.retry_after_seconds, 5);
}

#[test]
fn the_wait_is_the_shorter_one_of_pool_and_share() {
    let mut newcomers = dry(0);
    newcomers
        .take(address(1), Cost::micro_usd(200), 0)
        .map(drop)
        .unwrap();
    let wait = |newcomers: &mut Newcomers, cost| {
        let refused = newcomers.take(address(1), Cost::micro_usd(cost), 0);
        refused.unwrap_err().retry_after_seconds
    };
    assert_eq!(wait(&mut newcomers, 1), 1);
    assert_eq!(wait(&mut newcomers, 100), 10);
    // No share can ever hold this much, so the wait is the pool's.
    assert_eq!(wait(&mut newcomers, 300), 30);
}

#[test]
fn the_unspent_part_returns_to_its_source() {
    let mut newcomers = dry(0);
    let taken = newcomers.take(address(1), Cost::micro_usd(200), 0).unwrap();
    newcomers.give_back(taken, Cost::micro_usd(50));
    assert_eq!(newcomers.left_in_pool(0), Cost::ZERO);
    newcomers
        .take(address(1), Cost::micro_usd(150), 0)
        .map(drop)
        .unwrap();
    newcomers
        .take(address(1), Cost::micro_usd(1), 0)
        .unwrap_err();
}

#[test]
fn time_refills_up_to_the_capacity_and_a_clock_set_back_changes_nothing() {
    let mut newcomers = dry(10_000);
    assert_eq!(newcomers.left_in_pool(10_500), Cost::micro_usd(5));
    assert_eq!(newcomers.left_in_pool(2_000), Cost::micro_usd(5));
    assert_eq!(newcomers.left_in_pool(3_000), Cost::micro_usd(15));
    assert_eq!(newcomers.left_in_pool(u64::MAX), RULES.pool.capacity);
}

#[test]
fn a_cost_above_the_taken_amount_comes_out_of_the_pool() {
    let mut newcomers = Newcomers::new(RULES, 0);
    let taken = newcomers.take(None, Cost::micro_usd(100), 0).unwrap();
    newcomers.give_back(taken, Cost::micro_usd(300));
    assert_eq!(newcomers.left_in_pool(0), Cost::micro_usd(700));
    let taken = newcomers.take(None, Cost::micro_usd(100), 0).unwrap();
    newcomers.give_back(taken, Cost::micro_usd(u64::MAX));
    assert_eq!(newcomers.left_in_pool(0), Cost::ZERO);
}

#[test]
fn shares_are_bounded_in_number() {
    let mut newcomers = dry(0);
    let count = u32::try_from(MAX_ADDRESSES).unwrap() + 1;
    for number in 0..count {
        let address = Some(Ipv4Addr::from(number).into());
        newcomers
            .take(address, Cost::micro_usd(200), 0)
            .map(drop)
            .unwrap();
    }
    assert_eq!(newcomers.shares.len(), MAX_ADDRESSES);
}

proptest! {
    /// The sum of unreturned costs never exceeds the first amount and its refills.
    #[test]
    fn spending_is_bounded(
        steps in proptest::collection::vec((0u64..400, 0u64..400, 0u64..5_000), 1..60),
    ) {
        let mut newcomers = Newcomers::new(RULES, 0);
        let (mut now, mut spent) = (0, 0);
        for (cost, used, pause) in steps {
            now += pause;
            if let Ok(taken) = newcomers.take(address(1), Cost::micro_usd(cost), now) {
                let used = used.min(cost);
                newcomers.give_back(taken, Cost::micro_usd(used));
                spent += used;
            }
        }
        let first = RULES.pool.capacity.plus(RULES.address.capacity).as_micro_usd();
        let per_second = RULES.pool.per_second.plus(RULES.address.per_second).as_micro_usd();
        prop_assert!(spent <= first + per_second * now.div_ceil(1_000));
    }
}

#[test]
fn the_cost_is_named_by_its_source() {
    let rules = Rules {
        pool: Refill {
            capacity: Cost::micro_usd(100),
            per_second: Cost::ZERO,
        },
        address: Refill {
            capacity: Cost::micro_usd(50),
            per_second: Cost::ZERO,
        },
    };
    let address: IpAddr = [192, 0, 2, 1].into();
    let cost = Cost::micro_usd;
    let mut newcomers = Newcomers::new(rules, 0);
    let taken = newcomers.take(Some(address), cost(60), 0).unwrap();
    let of_pool = Spent {
        pool: cost(70),
        address: None,
    };
    assert_eq!(newcomers.give_back(taken, cost(70)), of_pool);
    let taken = newcomers.take(Some(address), cost(40), 0).unwrap();
    let of_both = Spent {
        pool: cost(5),
        address: Some((address, cost(40))),
    };
    assert_eq!(newcomers.give_back(taken, cost(45)), of_both);
    // A process that starts with the deficits continues where the first one ended.
    let mut restored = Newcomers::new(rules, 0);
    let without = |refill: Refill, missing| refill.capacity.minus(cost(missing));
    restored.restore_pool(without(rules.pool, 75), 0, 0);
    restored.restore_share(address, without(rules.address, 40), 0, 0);
    assert_eq!(restored.left_in_pool(0), newcomers.left_in_pool(0));
    for after in [&mut newcomers, &mut restored] {
        assert!(after.take(Some(address), cost(26), 0).is_err());
        assert!(after.take(Some(address), cost(25), 0).is_ok());
        assert!(after.take(Some(address), cost(10), 0).is_ok());
        assert!(after.take(Some(address), cost(1), 0).is_err());
    }
    // The deficit is larger than the capacity.
    restored.restore_pool(without(rules.pool, u64::MAX), 0, 0);
    restored.restore_share(address, without(rules.address, u64::MAX), 0, 0);
    assert!(restored.take(Some(address), cost(1), 0).is_err());
}

/// Callers cannot spend more than the pool holds and what refills it, even when calls cost more
/// than was taken for them.
#[test]
fn a_cost_above_the_pool_becomes_debt() {
    let cost = Cost::micro_usd;
    let mut newcomers = Newcomers::new(RULES, 0);
    let first = newcomers.take(None, cost(1_000), 0).unwrap();
    newcomers.give_back(first, cost(1_500));
    assert_eq!(newcomers.left_in_pool(0), Cost::ZERO);
    // The debt is 500, and ten refill in each second.
    let refused = newcomers.take(None, cost(100), 0).unwrap_err();
    assert_eq!(refused.retry_after_seconds, 60);
    assert_eq!(newcomers.left_in_pool(50_000), Cost::ZERO);
    assert_eq!(newcomers.left_in_pool(51_000), cost(10));
    // The returned part of other calls pays the debt as well.
    let second = newcomers.take(None, cost(10), 51_000).unwrap();
    newcomers.give_back(second, cost(40));
    assert_eq!(newcomers.left_in_pool(54_000), Cost::ZERO);
    assert_eq!(newcomers.left_in_pool(55_000), cost(10));
}

#[test]
fn more_is_taken_for_a_call_or_nothing_changes() {
    let cost = Cost::micro_usd;
    let mut newcomers = Newcomers::new(RULES, 0);
    let taken = newcomers.take(address(1), cost(100), 0).unwrap();
    let (taken, extended) = newcomers.extend(taken, address(1), cost(900), 0);
    assert_eq!((taken.cost(), extended), (cost(900), Ok(())));
    assert_eq!(newcomers.left_in_pool(0), cost(100));
    // A lower cost changes nothing.
    let (taken, extended) = newcomers.extend(taken, address(1), cost(100), 0);
    assert_eq!((taken.cost(), extended), (cost(900), Ok(())));
    let (taken, extended) = newcomers.extend(taken, address(1), cost(1_001), 0);
    assert_eq!(taken.cost(), cost(900));
    assert_eq!(extended.unwrap_err().retry_after_seconds, 1);
    assert_eq!(newcomers.left_in_pool(0), cost(100));
    // The same holds for the share, while the pool is empty.
    let rest = newcomers.take(None, cost(100), 0).unwrap();
    let own = newcomers.take(address(2), cost(50), 0).unwrap();
    let (own, extended) = newcomers.extend(own, address(2), cost(150), 0);
    assert_eq!((own.cost(), extended), (cost(150), Ok(())));
    let (own, extended) = newcomers.extend(own, address(2), cost(201), 0);
    assert!(extended.is_err());
    let of = |last| address(last).unwrap();
    assert_eq!(newcomers.left_in_share(of(2), 0), cost(50));
    for taken in [taken, rest, own] {
        newcomers.give_back(taken, Cost::ZERO);
    }
    assert_eq!(newcomers.left_in_pool(0), cost(1_000));
    assert_eq!(newcomers.left_in_share(of(2), 0), cost(200));
}
