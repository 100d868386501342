-- The health of the kinds of Acclaim in Argo CD, as kstatus sees it: Healthy when it is Ready,
-- Degraded when only a person can help, else Progressing. A Backend that hibernates as its spec
-- says is Suspended.
local health = { status = "Progressing", message = "No operator has seen this version yet" }
if obj.metadata.deletionTimestamp ~= nil then
  health.message = "It is being deleted"
  return health
end
local status = obj.status
if status == nil or status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return health
end
for _, condition in ipairs(status.conditions) do
  if condition.type == "Ready" then
    health.message = condition.reason
    if condition.message ~= nil and condition.message ~= "" then
      health.message = condition.reason .. ": " .. condition.message
    end
    if condition.status == "True" then
      health.status = "Healthy"
    end
    if condition.status == "False" and condition.reason == "BackendSuspended" and obj.kind == "Backend" then
      health.status = "Suspended"
      return health
    end
  elseif condition.type == "Stalled" and condition.status == "True" then
    health.status = "Degraded"
  end
end
return health
