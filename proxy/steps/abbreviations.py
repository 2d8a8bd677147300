"""What Punkt has to know about English when the machine lacks its trained data. Lower case, no final stop.

Words that are also whole English words (sun, mass, no, art) are left out where that would join sentences.
"""

from __future__ import annotations

LEADING = frozenset(
    """
    adm amb approx assoc attn bros brig bldg capt cf cmdr cmdt col comdr cpl cpt dept det dr drs e.g eg
    eq eqs esp fig figs fr gen gov hon i.e ie insp lieut lt lt.col maj messrs mlle mm mme mmes mr mrs ms
    msgr mt mx myr n.b nos ofc pl pp pref pres prof pvt reps rev rt sen sens sgt st ste supt viz vol vols
    vs
    """.split()
)
"""Abbreviations that belong to the word after them: no sentence ends with one (`Dr. Smith`, `e.g. tin`)."""

MONTHS = frozenset("jan feb mar apr jun jul aug sep sept oct nov dec".split())

BEFORE_NUMBER = MONTHS | frozenset("art ca ch chap cl fol no p para pt pts sec secs sect tab ver".split())
"""Abbreviations that belong to a number after them (`Jan. 5`, `No. 7`) and may end a sentence otherwise."""

TRAILING = MONTHS | frozenset(
    """
    a.d a.k.a a.m abbr al assn ave b.a b.b.a b.c b.c.e b.s b.sc blvd c.e cert co conf cong const corp ct
    ctr d.c d.d.s d.phil dem dist div e.u ed eds edn encl eng env esq et.al etc ext ft fwd g.b g.m.t ger
    h.q hist hr hrs hwy ibid illus inc incl intl j.d jr kan kg km l.a l.l.b l.l.m lb lbs ltd m.a m.b.a
    m.d m.p m.p.h m.s m.sc mfg mich minn misc n.a n.c n.d n.h n.j n.m n.y n.y.c nat natl o.k o.s okla
    orch org oz p.c p.j p.m p.o p.s ph.d phil pkg plc pty prov publ q.v qt r.a.f r.i r.n rd recd rpm s.a
    s.c s.d s.e soc sq sr subj suppl syn tenn therm treas tues u.a.e u.k u.n u.s u.s.a u.s.c u.s.s
    u.s.s.r univ usu w.va wis wk wt wyo yd yds yr yrs tue thu thur thurs
    """.split()
)
"""Abbreviations with which a sentence may or may not end (`in Washington D.C.`, `Apple Inc. was`)."""

STARTERS = frozenset(
    """
    a after all also although an and another are as at because before both but by during each even every
    finally first for from furthermore he her here his how however i if in is it its later many meanwhile
    more moreover most my no now of on once one only other our overall she since so some soon such that
    the their then there therefore these they this those though through thus to today two under unlike
    until we what when where whether which while who with would yet you your
    """.split()
)
"""Words that, capitalised after a TRAILING abbreviation, start a new sentence."""
