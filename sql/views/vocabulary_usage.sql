-- Which types and predicates are there, and how often is each used?
create view vocabulary_usage as
select vocabulary.kind,                     -- type, predicate
       vocabulary.name,                     -- as texts and prompts have it
       vocabulary.description,              -- the rule by which a model uses it
       vocabulary.origin,                   -- system, user
       vocabulary.state,                    -- active, disabled
       vocabulary.single_letters,           -- 1: of a type, one letter may be a name
       vocabulary.single_valued,            -- 1: of a predicate, a second object is a conflict
       case vocabulary.kind
           when 'type' then (select count(*) from entity where entity.type = vocabulary.name_key)
           else (select count(*) from edge
                 where edge.kind = 'relates' and edge.predicate = vocabulary.name_key and edge.active)
       end as uses,                         -- entities of the type, or relations by the predicate
       case vocabulary.kind
           when 'type' then (
               select count(*) from entity join edge on edge.dst = entity.id
               where entity.type = vocabulary.name_key and edge.kind in ('mentions', 'about') and edge.active)
           else (select count(*) from statement where statement.predicate = vocabulary.name_key)
       end as evidence,                     -- mentions of those entities, or statements by the predicate
       vocabulary.ordinal                   -- place in the prompt
from vocabulary;
