use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn claim(namespace: &str, number: i64) -> Claim {
    Claim {
        uid: format!("{namespace}-{number}"),
        namespace: namespace.to_owned(),
        name: number.to_string(),
        created: Timestamp::from_second(number).unwrap(),
        has_begun: false,
    }
}

fn gate(all: usize, each: usize) -> PlaceGate {
    PlaceGate::new(PlaceCount::of_tasks(ConcurrencyLimits {
        max_concurrent_tasks: all,
        max_tasks_per_namespace: each,
        ..ConcurrencyLimits::default()
    }))
}

fn woken(namespace: &str, number: i64) -> Woken {
    Woken {
        namespace: namespace.to_owned(),
        name: number.to_string(),
    }
}

fn is_queued(admission: &Admission) -> bool {
    matches!(admission, Admission::Queued { .. })
}

#[test]
fn a_thousand_tasks_of_one_namespace_do_not_starve_another() {
    let mut gate = gate(10, 0);
    for number in 0..1_000 {
        gate.ask(claim("many", number));
    }
    // The tenth place is for a namespace that has none, the next one that is free for that which has fewer.
    assert_eq!(gate.ask(claim("few", 5_000)), Admission::Go);
    assert!(is_queued(&gate.ask(claim("few", 5_001))));
    assert_eq!(gate.done("many-0"), [], "it is kept again");
    assert_eq!(gate.done("many-1"), [woken("few", 5_001)]);
    assert_eq!(gate.done("many-2"), [woken("many", 9)]);
}

#[test]
fn a_namespace_takes_every_place_but_one_in_ten_unless_there_is_a_limit_of_its_own() {
    let taken = |each: usize| {
        let mut gate = gate(10, each);
        let many = (0..1_000).filter(|number| gate.ask(claim("many", *number)) == Admission::Go);
        let many = many.count();
        (many, gate.ask(claim("few", 5_000)) == Admission::Go)
    };
    assert_eq!(taken(0), (9, true));
    assert_eq!(taken(3), (3, true));
}

#[test]
fn namespaces_with_as_many_running_tasks_take_turns() {
    let mut gate = gate(1, 0);
    assert_eq!(gate.ask(claim("a", 0)), Admission::Go);
    for number in 1..3 {
        for namespace in ["a", "b", "c"] {
            gate.ask(claim(namespace, number));
        }
    }
    let mut last = "a-0".to_owned();
    let mut order = Vec::new();
    while let [next] = gate.done(&last).as_slice() {
        last = format!("{}-{}", next.namespace, next.name);
        order.push(last.clone());
    }
    let of_each: Vec<&str> = order.iter().map(|uid| &uid[..1]).collect();
    for turn in of_each.chunks(3) {
        let distinct: BTreeSet<&&str> = turn.iter().collect();
        assert_eq!(distinct.len(), turn.len(), "{order:?}");
    }
}

#[test]
fn the_oldest_task_of_a_namespace_goes_first_and_one_that_has_begun_before_it() {
    let mut gate = gate(1, 0);
    gate.ask(claim("a", 9));
    gate.ask(claim("a", 3));
    gate.ask(claim("a", 1));
    let begun = Claim {
        has_begun: true,
        ..claim("a", 7)
    };
    gate.ask(begun);
    assert_eq!(gate.done("a-9"), [woken("a", 7)]);
    assert_eq!(gate.done("a-7"), [woken("a", 1)]);
    assert_eq!(gate.done("a-1"), [woken("a", 3)]);
}

#[test]
fn a_queued_task_names_the_limit_that_holds_it_in_the_same_words_each_time() {
    let mut gate = gate(3, 1);
    assert_eq!(gate.ask(claim("a", 1)), Admission::Go);
    let Admission::Queued { limit } = gate.ask(claim("a", 2)) else {
        panic!("it must wait");
    };
    assert!(
        limit.contains("at most 1 tasks of a namespace") && limit.contains("maxTasksPerNamespace"),
        "{limit}"
    );
    gate.ask(claim("b", 1));
    gate.ask(claim("c", 1));
    assert_eq!(gate.ask(claim("a", 2)), Admission::Queued { limit });
    let Admission::Queued { limit } = gate.ask(claim("d", 1)) else {
        panic!("it must wait");
    };
    assert!(
        limit.contains("at most 3 tasks run") && limit.contains("maxConcurrentTasks"),
        "{limit}"
    );
}

#[test]
fn tasks_that_ran_before_a_restart_keep_their_places_also_above_a_lower_limit() {
    let mut gate = gate(2, 0);
    for number in 0..3 {
        gate.resume(&claim("a", number));
    }
    assert!(is_queued(&gate.ask(claim("b", 0))));
    assert_eq!(gate.ask(claim("a", 2)), Admission::Go);
    assert_eq!(gate.done("a-0"), []);
    assert_eq!(gate.done("a-1"), [woken("b", 0)]);
    assert_eq!(gate.running(), 2);
}

#[test]
fn a_task_that_is_gone_while_it_waits_is_not_woken() {
    let mut gate = gate(1, 0);
    gate.ask(claim("a", 0));
    gate.ask(claim("a", 1));
    assert_eq!(gate.done("a-1"), []);
    assert_eq!(gate.done("a-1"), [], "twice is no harm");
    assert_eq!(gate.done("a-0"), []);
    assert_eq!((gate.running(), gate.waiting()), (0, 0));
    assert!(
        gate.namespaces.is_empty(),
        "nothing is remembered of namespaces without tasks"
    );
}

#[test]
fn places_of_tasks_that_are_not_there_any_more_are_free() {
    let mut gate = gate(2, 0);
    for number in 0..5 {
        gate.ask(claim("a", number));
    }
    let mut uids: Vec<String> = gate.uids().collect();
    uids.sort_unstable();
    assert_eq!(uids, ["a-0", "a-1", "a-2", "a-3", "a-4"]);
    let woken_now: Vec<Woken> = uids[..3].iter().flat_map(|uid| gate.done(uid)).collect();
    let alive: Vec<Woken> = woken_now.into_iter().filter(|woken| woken.name != "2").collect();
    assert_eq!(alive, [woken("a", 3), woken("a", 4)]);
    assert_eq!((gate.running(), gate.waiting()), (2, 0));
}

/// Ends of tasks of others until the only one of a namespace has a place.
fn wait_of_one(places: usize, others: &[(&str, i64)]) -> usize {
    let mut gate = gate(places, 0);
    let mut running = VecDeque::new();
    for (namespace, tasks) in others {
        for number in 0..*tasks {
            let claim = claim(namespace, number);
            let uid = claim.uid.clone();
            if gate.ask(claim) == Admission::Go {
                running.push_back(uid);
            }
        }
    }
    if gate.ask(claim("one", 9_999)) == Admission::Go {
        return 0;
    }
    for ends in 1.. {
        let woken = gate.done(&running.pop_front().unwrap());
        if woken.iter().any(|woken| woken.namespace == "one") {
            return ends;
        }
        running.extend(
            woken
                .iter()
                .map(|woken| format!("{}-{}", woken.namespace, woken.name)),
        );
    }
    unreachable!()
}

#[test]
fn the_one_task_of_a_namespace_waits_as_in_an_empty_cluster_beside_one_that_has_five_hundred() {
    assert_eq!(wait_of_one(100, &[]), 0);
    assert_eq!(wait_of_one(100, &[("crowd", 500)]), 0);
    // Where too few places are there to keep one, the next is its own.
    assert_eq!(wait_of_one(9, &[("crowd", 500)]), 1);
    assert_eq!(wait_of_one(10, &[("crowd", 500), ("second", 1)]), 1);
}

proptest! {
    #[test]
    fn no_limit_is_exceeded_nobody_waits_beside_a_free_place_and_everybody_gets_one(
        all in 1_usize..6,
        each in 0_usize..4,
        steps in prop::collection::vec((0_usize..4, any::<bool>()), 1..120),
    ) {
        let mut gate = gate(all, each);
        let mut running: Vec<String> = Vec::new();
        let mut asked: Vec<String> = Vec::new();
        let mut number = 0;
        for (which, asks) in steps {
            if asks || running.is_empty() {
                number += 1;
                let claim = claim(["a", "b", "c", "d"][which], number);
                asked.push(claim.uid.clone());
                let uid = claim.uid.clone();
                if gate.ask(claim) == Admission::Go {
                    running.push(uid);
                }
            } else {
                let uid = running.remove(which % running.len());
                running.extend(gate.done(&uid).iter().map(|woken| format!("{}-{}", woken.namespace, woken.name)));
            }
            prop_assert_eq!(gate.running(), running.len());
            prop_assert!(running.len() <= all);
            for namespace in gate.namespaces.values() {
                prop_assert!(each == 0 || namespace.running <= each);
                let is_open = running.len() < all && (each == 0 || namespace.running < each);
                prop_assert!(namespace.waiting.is_empty() || !is_open);
            }
        }
        let mut queue = VecDeque::from(running);
        let mut ended = 0;
        while let Some(uid) = queue.pop_front() {
            ended += 1;
            queue.extend(gate.done(&uid).iter().map(|woken| format!("{}-{}", woken.namespace, woken.name)));
        }
        prop_assert_eq!((gate.running(), gate.waiting()), (0, 0));
        prop_assert!(ended <= asked.len() && gate.namespaces.is_empty());
    }

    #[test]
    fn a_lone_task_waits_for_at_most_one_place_for_each_other_namespace(
        others in prop::collection::vec(1_i64..50, 1..5),
        places in 1_usize..8,
    ) {
        let mut gate = gate(places, 0);
        let names = ["a", "b", "c", "d"];
        let mut running = VecDeque::new();
        for (namespace, tasks) in names.iter().zip(&others) {
            for number in 0..*tasks {
                let claim = claim(namespace, number);
                let uid = claim.uid.clone();
                if gate.ask(claim) == Admission::Go {
                    running.push_back(uid);
                }
            }
        }
        if gate.ask(claim("lone", 1_000)) == Admission::Go {
            return Ok(());
        }
        for given in 0.. {
            prop_assert!(given <= others.len(), "it waits for ever");
            let uid = running.pop_front().unwrap();
            let woken = gate.done(&uid);
            if woken.iter().any(|woken| woken.namespace == "lone") {
                break;
            }
            running.extend(woken.iter().map(|woken| format!("{}-{}", woken.namespace, woken.name)));
        }
    }
}
