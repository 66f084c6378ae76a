"""Questions with the times that a person reads in them, and such that have none; asked on Sunday, 22 October 2023.

A time is `START..END` in ISO days, the end not in it any more; open ends are left out. Two are parted by a space.
"""

from __future__ import annotations

TODAY = "2023-10-22"

LABELS = """
What did we decide last spring? | 2023-03-01..2023-06-01
What did Caroline paint in May 2023? | 2023-05-01..2023-06-01
What broke yesterday? | 2023-10-21..2023-10-22
Who joined two weeks ago? | 2023-10-05..2023-10-12
What happened on 7 May? | 2023-05-07..2023-05-08
Which tickets were closed between March and May 2023? | 2023-03-01..2023-06-01
What was the plan before June? | ..2023-06-01
What has changed since Monday? | 2023-10-16..
Which conferences did we visit this year? | 2023-01-01..2024-01-01
What did Jon say on May 23, 2023? | 2023-05-23..2023-05-24
What did Gina find on 1 February, 2023? | 2023-02-01..2023-02-02
Where did they go on the 7th of May 2022? | 2022-05-07..2022-05-08
What was agreed on 2023-05-08? | 2023-05-08..2023-05-09
Show the notes of 2023/05/08, please | 2023-05-08..2023-05-09
What came with the release of 2023-09? | 2023-09-01..2023-10-01
What was decided in week 2023-W20? | 2023-05-15..2023-05-22
Which bugs were found on 25/12/2022? | 2022-12-25..2022-12-26
Which bugs were found on 7.5.2023? | 2023-05-07..2023-05-08
How did the migration go last week? | 2023-10-09..2023-10-16
What are the goals for next month? | 2023-11-01..2023-12-01
What did we spend last month? | 2023-09-01..2023-10-01
What was our revenue last quarter? | 2023-07-01..2023-10-01
What was our revenue in Q1 2023? | 2023-01-01..2023-04-01
And what was it in Q3? | 2023-07-01..2023-10-01
What was planned for Q4 of 2022? | 2022-10-01..2023-01-01
How did the second half of 2022 go? | 2022-07-01..2023-01-01
What did we learn in the third quarter of 2021? | 2021-07-01..2021-10-01
What did we do last year? | 2022-01-01..2023-01-01
Where did John travel last summer? | 2023-06-01..2023-09-01
What was built in the summer of 2022? | 2022-06-01..2022-09-01
Who left last winter? | 2022-12-01..2023-03-01
What is planned for next spring? | 2024-03-01..2024-06-01
Which papers did we read in the fall? | 2023-09-01..2023-12-01
Which papers did we read last fall? | 2022-09-01..2022-12-01
What is new this autumn? | 2023-09-01..2023-12-01
What did the team do in winter 2021? | 2021-12-01..2022-03-01
What did Maria do last weekend? | 2023-10-14..2023-10-16
What did Maria do last night? | 2023-10-21..2023-10-22
What did Maria do tonight? | 2023-10-22..2023-10-23
What did I write this morning? | 2023-10-22..2023-10-23
What did I write today? | 2023-10-22..2023-10-23
What is due tomorrow? | 2023-10-23..2023-10-24
What was due the day before yesterday? | 2023-10-20..2023-10-21
Who called three days ago? | 2023-10-19..2023-10-20
Who called 21 days ago? | 2023-10-01..2023-10-02
Who called a couple of days ago? | 2023-10-18..2023-10-22
Where did Caroline move from 4 years ago? | 2019-01-01..2020-01-01
What did we think of it a year ago? | 2022-01-01..2023-01-01
What did we think of it six months ago? | 2023-04-07..2023-05-08
What failed in the last 3 months? | 2023-07-22..2023-10-23
What failed in the past two weeks? | 2023-10-08..2023-10-23
What failed over the past year? | 2022-10-22..2023-10-23
What did we ship in the last few days? | 2023-10-19..2023-10-23
What did Ann say on Friday? | 2023-10-20..2023-10-21
What did Ann say last Tuesday? | 2023-10-17..2023-10-18
What will happen next Friday? | 2023-10-27..2023-10-28
What was done since last Thursday? | 2023-10-19..
What was the state until March 2022? | ..2022-04-01
What was the state before 2020? | ..2020-01-01
What changed after 3 June 2023? | 2023-06-04..
What changed since 2021? | 2021-01-01..
What happened in 2022? | 2022-01-01..2023-01-01
What happened in 2022 with the budget? | 2022-01-01..2023-01-01
What happened during 2021, and who was there? | 2021-01-01..2022-01-01
Which songs were written in the 1990s? | 1990-01-01..2000-01-01
Which songs were written in the 90s? | 1990-01-01..2000-01-01
What was decided early in 2023? | 2023-01-01..2023-05-03
What was decided at the end of May? | 2023-05-21..2023-06-01
What was decided in mid-June 2023? | 2023-06-11..2023-06-21
What was decided in late August? | 2023-08-21..2023-09-01
What did John do the week before August 3, 2023? | 2023-07-27..2023-08-04
What did Maria do two weeks before August 11, 2023? | 2023-07-28..2023-08-12
What did Maria do last weekend before April 10, 2023? | 2023-04-08..2023-04-11
What did Maria do the Friday before 14 August 2023? | 2023-08-11..2023-08-15
What did Maria do the day after 3 June 2023? | 2023-06-03..2023-06-05
What changed from 2019 to 2021? | 2019-01-01..2022-01-01
What changed between 2019 and 2021? | 2019-01-01..2022-01-01
What changed from March to May? | 2023-03-01..2023-06-01
What changed between 5 and 9 May? | 2023-05-05..2023-05-10
What changed May 5-9, 2023? | 2023-05-05..2023-05-10
What changed between May 5 and June 9, 2023? | 2023-05-05..2023-06-10
What changed between 1 March 2022 and 15 April 2022? | 2022-03-01..2022-04-16
What changed between November 2022 and February 2023? | 2022-11-01..2023-03-01
What changed between November and February 2023? | 2022-11-01..2023-03-01
What did we buy in Feb 2023 and in Sept. 2023? | 2023-02-01..2023-03-01 2023-09-01..2023-10-01
What did we buy in december? | 2022-12-01..2023-01-01
What did we buy in may? | 2023-05-01..2023-06-01
What did we buy last May? | 2023-05-01..2023-06-01
What did we buy in May last year? | 2022-05-01..2022-06-01
Was the office open on Oct. 13, 2023? | 2023-10-13..2023-10-14
Was the office open on the 29th of February? | 2020-02-29..2020-03-01
Was May's meeting before yesterday? | ..2023-10-21
What did he say in January's review? | 2023-01-01..2023-02-01
Which of last year's goals were met? | 2022-01-01..2023-01-01
Which goals did we set for this quarter? | 2023-10-01..2024-01-01
What have I eaten this week? | 2023-10-16..2023-10-23
Which decade was it, the 1980s? | 1980-01-01..1990-01-01
What was the year 2008 like? | 2008-01-01..2009-01-01
What was said at 2023-05-08T13:56:00Z? | 2023-05-08..2023-05-09
When did Melanie go camping in July? | 2023-07-01..2023-08-01
what did we do prior to 2022 | ..2022-01-01
which tests failed after Tuesday | 2023-10-18..
who was on call throughout August | 2023-08-01..2023-09-01
what was the weather a fortnight ago | 2023-10-05..2023-10-12
who visited half a year ago | 2023-04-07..2023-05-08
which alarms rang an hour ago | 2023-10-22..2023-10-23
the standup on monday morning | 2023-10-16..2023-10-17
May I deploy on my own? |
You may use 7 workers, right? |
Who may read the file? |
How may 2 users share a session? |
Did the army march on Rome? |
Who will march with us? |
What did May say about the budget? |
Does April still work here? |
What did June and August argue about? |
Is the second approach better? |
Wait a second, which one? |
Which of the 80 ports are open? |
Why is port 2049 blocked? |
Which version is 1.2? |
What is new in 2023.5.1? |
Is it fixed in v2023.05.07? |
What is the phone number 555-2023? |
Who answers at +49 30 2023 1999? |
Does it run on Sun Microsystems hardware? |
Is the sat nav on? |
Who wrote the Sun article? |
What is CVE-2023-1234? |
Where is backup-2023-05-07.sql? |
Is logs/2023-05-07.txt complete? |
Which ISO 8601 form do we use? |
How do I configure Spring Boot? |
Is the bean in Spring a singleton? |
Does this fall under GDPR? |
Why did the tests fall over? |
How do I spring a trap? |
What is in the fall of Rome chapter? |
Which lines follow in 2000 lines? |
Why is it slow after 2000 requests? |
Can it hold 2048 bits? |
Is the limit 2000? |
What runs on Windows Server 2019? |
Which SQL Server 2022 edition do we have? |
What is the last word on tabs? |
Which was the last version? |
What were the last 5 commits? |
What is the next step? |
What are the past participles? |
When does the daily job run? |
Do we deploy on Fridays? |
What is Black Friday traffic like? |
Who owns the Monday board? |
Is this the last week of school? |
What is the house number of 1999 Main Street? |
Where does 05/07/2023 come from? |
What does the March Hare say? |
In March Madness, who won? |
Is Jan's laptop encrypted? |
Did Dec pass his exam? |
How long is a month? |
How many days are in a year? |
Which database do we use for staging? |
What does ERR_2023_05 mean? |
Why did build #2023 fail? |
What is $2000 for? |
What is at 10.0.2023.1? |
What is on the 7th floor? |
Where is summer camp listed? |
How old is Aug? |
Should I set max_age to 2000? |
Is Sept the name of a clan? |
Do the mar and sep columns add up? |
""".strip("\n")
